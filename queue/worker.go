package queue

import (
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// worker delivers the messages of one queue to apps.
type worker struct {
	*lane.Lane
	q        *Queue
	log      *slog.Logger
	throttle *throttle
	ended    endedMessages
}

func newWorker(q *Queue, kind world.Kind, name string, concurrency int) *worker {
	log := q.cfg.Logger.With(slog.String("queue", name))
	return &worker{
		q: q, log: log, throttle: newThrottle(q.cfg.Clock),
		Lane: lane.New(lane.Config{
			Kind: kind, Name: name, KeyPrefix: q.cfg.KeyPrefix, Concurrency: concurrency,
			Redis: q.redis, Send: q.send, Scripts: q.scripts, Clock: q.cfg.Clock, Log: log,
			Process: q.process, Phases: q.phases, Outage: q.outage,
			Announce: q.announce,
			Relieved: q.cfg.Relieved, Recovered: func() { q.cfg.Observer.Recovered(kind) }, AppRegistered: func() { q.apps.Changed() },
		}),
	}
}

// delivery is one delivery of a claimed message.
type delivery struct {
	*lane.Claim
	replayed string        // the v4 run that the app has replayed for it
	took     time.Duration // how long that took
	trouble  trouble       // what is known of crashes
	found    bool          // the app has answered, and before that another deployment did at its address

	mu      sync.Mutex
	entered string // the app whose capacity it uses
}

// enter notes the app whose capacity the delivery uses, and returns the one before.
func (d *delivery) enter(app string) (before string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, d.entered = d.entered, app
	return before
}

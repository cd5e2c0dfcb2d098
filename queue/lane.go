package queue

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
)

// lane is one of the two asynq queues with what this process does about it.
type lane struct {
	q           *Queue
	kind        world.Kind
	name        string
	concurrency int
	keys        laneKeys
	log         *slog.Logger
	bridge      *asynqbridge.Bridge
	bell        *bell
	due         *dueTimer
	waiting     atomic.Bool   // next waits for a message
	adding      sync.RWMutex  // read-locked from awaited to handOver
	came        chan struct{} // gets an item when the buffer was filled for next while it waited

	mu          sync.Mutex
	buffer      []*claim            // taken, not yet given to asynq
	given       map[string]*claim   // given to asynq, not yet to the handler; by message id
	claims      map[*claim]struct{} // all that this process holds a lease of
	wakes       string              // registrations seen, see wake.lua
	quiet       <-chan struct{}     // the bell as of when the list was last seen empty
	backlog     *backlog
	throttle    *throttle
	lost        lostAnswers
	clock       redisClock
	longRunning longRunning
	lookFrom    int            // where the next sweep looks for messages without a lease
	work        sync.WaitGroup // deliveries
}

// claim is a message in this process's hands.
type claim struct {
	id, owner   string
	message     string // as asynq encodes it
	failed      int    // failed deliveries so far
	rescheduled int    // times the app has rescheduled it
	wakes       string
	since       time.Time     // when it became pending
	held        time.Time     // when the lease was last known to be ours; by the process's own clock
	app         string        // that an earlier delivery was begun with and perhaps goes on
	holdUntil   time.Time     // until then that app may take to notice the end of that delivery
	entered     string        // the app whose place it has; under the lane's mutex
	target      string        // the app that it is being delivered to; under the lane's mutex
	longRunning bool          // it has given up its slot; under the lane's mutex
	preload     []byte        // what its delivery brings along, read at
	preloadedAt time.Time     // that moment, by the process's own clock
	seen        world.LogSeen // read with it
	sent        atomic.Int64  // how often its outcome was sent to Redis
	replayed    string        // the v4 run that the app has replayed for it, and
	took        time.Duration // how long it took
	trouble     trouble       // what it knows of crashes

	ctx    context.Context // of the delivery
	cancel context.CancelCauseFunc
}

// attempt is the number of the delivery, from 1 on.
func (c *claim) attempt() int {
	n := 1 + c.failed
	if c.rescheduled > 0 {
		n++
	}
	return n
}

// holdLeft is how long the delivery must wait yet, by the process's own clock.
func (c *claim) holdLeft() time.Duration { return max(0, time.Until(c.holdUntil)) }

func newLane(q *Queue, kind world.Kind, name string, concurrency int) *lane {
	log := q.cfg.Logger.With(slog.String("queue", name))
	return &lane{
		q: q, kind: kind, name: name, concurrency: concurrency,
		keys: keysOf(q.cfg.KeyPrefix, name),
		log:  log, bridge: asynqbridge.New(q.redis, name, log),
		bell: newBell(), due: newDueTimer(q.cfg.Clock), came: make(chan struct{}, 1),
		given: map[string]*claim{}, claims: map[*claim]struct{}{},
		backlog: newBacklog(concurrency), throttle: newThrottle(q.cfg.Clock), longRunning: newLongRunning(),
	}
}

// laneKeys are the keys of one queue. All have the queue's hash tag, so that a script may
// use any of them.
type laneKeys struct {
	task                                                                                string // + the message id
	pending, paused, active, lease, scheduled, retry, archived, completed               string
	processed, failed                                                                   string
	idempotency, request, waitingForApp, wakes, bell, waiting, running, parked, delayed string
	ofRun                                                                               string // and the run: its messages that are not done or dead
	throttled                                                                           string // + the app
	coolingDown                                                                         string // + the run
	interrupted, suspect, suspects                                                      string // + the app
}

func keysOf(prefix, name string) laneKeys {
	a := asynqbridge.KeysOf(name)
	own := prefix + "queue:{" + name + "}:"
	return laneKeys{
		task: a.Task, pending: a.Pending, paused: a.Paused, active: a.Active, lease: a.Lease,
		scheduled: a.Scheduled, retry: a.Retry, archived: a.Archived, completed: a.Completed,
		processed: a.Processed, failed: a.Failed,
		idempotency: own + "idempotency", request: own + "request:", waitingForApp: own + "stalled",
		wakes: own + "wakes", bell: own + "bell",
		waiting: own + "waiting", running: own + "running", parked: own + "parked", delayed: own + "delayed", ofRun: own + "of:",
		throttled: own + "crowded:", coolingDown: own + "resting:",
		interrupted: own + "interrupted:", suspect: own + "suspect:", suspects: own + "suspects:",
	}
}

// score turns a moment into a zset score: asynq's seconds, with milliseconds as decimals.
func score(m world.Millis) string {
	return fmt.Sprintf("%d.%03d", m/1000, m%1000)
}

func parseScore(s string) (world.Millis, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("score %q: %w", s, err)
	}
	return world.Millis(f*1000 + 0.5), nil
}

// nextOwner returns a token that no other lease has.
func (q *Queue) nextOwner() string {
	return q.instance + "." + strconv.FormatUint(q.owners.Add(1), 36)
}

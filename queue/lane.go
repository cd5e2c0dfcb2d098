package queue

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/world-redis/world-redis"
)

// lane is one of the two asynq queues with what this process does about it.
type lane struct {
	q           *Queue
	kind        world.Kind
	name        string
	concurrency int
	keys        laneKeys
	log         *slog.Logger
	bell        *bell
	due         *dueTimer
	waiting     atomic.Bool   // next waits for a message
	adding      sync.RWMutex  // read-locked from awaited to handOver
	came        chan struct{} // gets an item when the buffer was filled for next while it waited

	mu       sync.Mutex
	buffer   []*claim            // taken, not yet given to asynq
	given    map[string]*claim   // given to asynq, not yet to the handler; by message id
	claims   map[*claim]struct{} // all that this process holds a lease of
	wakes    string              // registrations seen, see wake.lua
	quiet    <-chan struct{}     // the bell as of when the list was last seen empty
	backlog  *backlog
	crowd    *crowd
	clock    redisClock
	lengthy  lengthy
	lookFrom int            // where the next sweep looks for messages without a lease
	work     sync.WaitGroup // deliveries
}

// claim is a message in this process's hands.
type claim struct {
	id, owner string
	message   string // as asynq encodes it
	failed    int    // failed deliveries so far
	moved     int    // times the app has rescheduled it
	wakes     string
	since     time.Time     // when it became pending
	held      time.Time     // when the lease was last known to be ours; by the process's own clock
	app       string        // that an earlier delivery was begun with and perhaps goes on
	holdUntil time.Time     // until then that app may take to notice the end of that delivery
	entered   string        // the app whose place it has; under the lane's mutex
	target    string        // the app that it is being delivered to; under the lane's mutex
	lengthy   bool          // it has given up its slot; under the lane's mutex
	along     []byte        // what its delivery brings along, read at
	alongAt   time.Time     // that moment, by the process's own clock
	seen      world.LogSeen // read with it
	replayed  string        // the v4 run that the app has replayed for it, and
	took      time.Duration // how long it took
	trouble   trouble       // what it knows of crashes

	ctx    context.Context // of the delivery
	cancel context.CancelCauseFunc
}

// attempt is the number of the delivery, from 1 on.
func (c *claim) attempt() int {
	n := 1 + c.failed
	if c.moved > 0 {
		n++
	}
	return n
}

// holdLeft is how long the delivery must wait yet, by the process's own clock.
func (c *claim) holdLeft() time.Duration { return max(0, time.Until(c.holdUntil)) }

func newLane(q *Queue, kind world.Kind, name string, concurrency int) *lane {
	return &lane{
		q: q, kind: kind, name: name, concurrency: concurrency,
		keys: keysOf(q.cfg.KeyPrefix, name),
		log:  q.cfg.Logger.With(slog.String("queue", name)),
		bell: newBell(), due: newDueTimer(q.cfg.Clock), came: make(chan struct{}, 1),
		given: map[string]*claim{}, claims: map[*claim]struct{}{},
		backlog: newBacklog(concurrency), crowd: newCrowd(q.cfg.Clock), lengthy: newLengthy(),
	}
}

// laneKeys are the keys of one queue. All have the queue's hash tag, so that a script may
// use any of them.
type laneKeys struct {
	asynqPrefix, task                                                             string
	pending, paused, active, lease, scheduled, retry, archived, completed         string
	processed, failed, groups                                                     string
	idempotency, request, stalled, wakes, bell, waiting, running, parked, delayed string
	ofRun                                                                         string // and the run: its messages that are not done or dead
	crowded                                                                       string // + the app
	resting                                                                       string // + the run
	interrupted, suspect, suspects                                                string // + the app
}

func keysOf(prefix, name string) laneKeys {
	// asynq's own names; backend_test.go proves that they are still these.
	a := "asynq:{" + name + "}:"
	own := prefix + "queue:{" + name + "}:"
	return laneKeys{
		asynqPrefix: a, task: a + "t:",
		pending: a + "pending", paused: a + "paused", active: a + "active", lease: a + "lease",
		scheduled: a + "scheduled", retry: a + "retry", archived: a + "archived", completed: a + "completed",
		processed: a + "processed", failed: a + "failed", groups: a + "aggregation_sets",
		idempotency: own + "idempotency", request: own + "request:", stalled: own + "stalled",
		wakes: own + "wakes", bell: own + "bell",
		waiting: own + "waiting", running: own + "running", parked: own + "parked", delayed: own + "delayed", ofRun: own + "of:",
		crowded: own + "crowded:", resting: own + "resting:",
		interrupted: own + "interrupted:", suspect: own + "suspect:", suspects: own + "suspects:",
	}
}

// statsTTL is how long asynq keeps the counters of a day.
const statsTTL = 90 * 24 * time.Hour

// day returns the counter of a day that belongs to a counter, and when it ends.
func (l *lane) day(counter string) (key string, expireAt int64) {
	now := l.q.cfg.Clock.Now().UTC()
	return counter + ":" + now.Format(time.DateOnly), now.Add(statsTTL).Unix()
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

// laneOf finds the lane whose asynq keys these are.
func (q *Queue) laneOf(key string) *lane {
	for _, l := range q.lanes() {
		if strings.HasPrefix(key, l.keys.asynqPrefix) {
			return l
		}
	}
	return nil
}

package waiters

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis/internal/doorbell"
)

// Config says where the ends of runs are published, and how to find out about one that was missed.
type Config struct {
	Bell    *doorbell.Bell
	Channel func(runID string) string // on which the end of a run is published
	// Ended returns for each run whether it has ended or is gone; false also where Redis did not say.
	Ended func(ctx context.Context, runIDs []string) []bool
	// AuditEvery is how long a lost message may delay those who wait.
	AuditEvery time.Duration
}

// Waiters are all calls of this process that wait for runs to end.
type Waiters struct {
	config Config

	mu   sync.Mutex // never held while the bell calls
	runs map[string]*awaitedRun
}

// awaitedRun is a run that somebody waits for.
type awaitedRun struct {
	owner     *Waiters
	runID     string
	waiters   map[*Waiter]struct{}
	ready     chan struct{} // closed when Redis has confirmed the subscription
	confirmed bool
	notified  bool // of the end of the run
}

// Waiter is one call that waits.
type Waiter struct {
	run  *awaitedRun
	ring chan struct{} // capacity 1: read the run
}

// New returns the waiters of a process. Nobody is woken before [Waiters.Run] runs.
func New(c Config) *Waiters {
	return &Waiters{config: c, runs: map[string]*awaitedRun{}}
}

// Run wakes those who wait until ctx ends.
func (ws *Waiters) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return ws.config.Bell.Run(ctx) })
	parts.Go(func() error { return ws.config.Bell.Audit(ctx, ws.config.AuditEvery, ws.audit) })
	return parts.Wait()
}

// Join adds a call that waits for a run. It must leave.
func (ws *Waiters) Join(runID string) *Waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	run := ws.runs[runID]
	if run == nil {
		run = &awaitedRun{owner: ws, runID: runID, waiters: map[*Waiter]struct{}{}, ready: make(chan struct{})}
		ws.runs[runID] = run
		ws.config.Bell.Join(ws.config.Channel(runID), run)
	}
	w := &Waiter{run: run, ring: make(chan struct{}, 1)}
	run.waiters[w] = struct{}{}
	return w
}

// Leave ends the waiting.
func (w *Waiter) Leave() {
	ws := w.run.owner
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(w.run.waiters, w)
	if len(w.run.waiters) == 0 {
		delete(ws.runs, w.run.runID)
		ws.config.Bell.Leave(ws.config.Channel(w.run.runID))
	}
}

// Subscribed is closed when an end from now on is published to this process.
func (w *Waiter) Subscribed() <-chan struct{} { return w.run.ready }

// Woken gets a value when the run may have ended: it is time to read it.
func (w *Waiter) Woken() <-chan struct{} { return w.ring }

// Waiting returns how many calls wait for a run, and whether its subscription is confirmed.
func (ws *Waiters) Waiting(runID string) (calls int, subscribed bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	run := ws.runs[runID]
	if run == nil {
		return 0, false
	}
	return len(run.waiters), run.confirmed
}

// Ready implements [doorbell.Listener]. The second time it is a new connection, and the end may
// have been missed.
func (r *awaitedRun) Ready() {
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	if r.confirmed {
		r.wake()
		return
	}
	r.confirmed = true
	close(r.ready)
}

// Ring implements [doorbell.Listener].
func (r *awaitedRun) Ring(string) {
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	r.notified = true
	r.wake()
}

// wake wakes all waiters. It is called with mu held.
func (r *awaitedRun) wake() {
	for w := range r.waiters {
		select {
		case w.ring <- struct{}{}:
		default: // the last ring is still there and covers this one
		}
	}
}

package storage

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/doorbell"
)

// auditBatch is how many awaited runs are looked at in one round trip.
const auditBatch = 500

// endings knows which runs somebody waits for, keeps exactly those subscribed, and wakes their
// waiters. A message may be lost, so all awaited runs are also looked at from time to time:
// once a run and not once a waiter.
type endings struct {
	bell *doorbell.Bell
	keys keyspace

	mu   sync.Mutex // never held while the bell calls
	runs map[string]*awaitedRun
}

// awaitedRun is a run that somebody waits for.
type awaitedRun struct {
	owner     *endings
	runID     string
	waiters   map[*waiter]struct{}
	ready     chan struct{} // closed when Redis has confirmed the subscription
	confirmed bool
	told      bool // that the run has ended
}

// waiter is one call that waits.
type waiter struct {
	run  *awaitedRun
	ring chan struct{} // capacity 1: look at the run
}

func newEndings(bell *doorbell.Bell, keys keyspace) *endings {
	return &endings{bell: bell, keys: keys, runs: map[string]*awaitedRun{}}
}

func (e *endings) join(runID string) *waiter {
	e.mu.Lock()
	defer e.mu.Unlock()
	run := e.runs[runID]
	if run == nil {
		run = &awaitedRun{owner: e, runID: runID, waiters: map[*waiter]struct{}{}, ready: make(chan struct{})}
		e.runs[runID] = run
		e.bell.Join(e.keys.of(runID).ended(), run)
	}
	w := &waiter{run: run, ring: make(chan struct{}, 1)}
	run.waiters[w] = struct{}{}
	return w
}

func (e *endings) leave(w *waiter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(w.run.waiters, w)
	if len(w.run.waiters) == 0 {
		delete(e.runs, w.run.runID)
		e.bell.Leave(e.keys.of(w.run.runID).ended())
	}
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
	r.told = true
	r.wake()
}

// wake wakes all waiters; call it with mu held.
func (r *awaitedRun) wake() {
	for w := range r.waiters {
		select {
		case w.ring <- struct{}{}:
		default: // the last ring is not heard yet and covers this one
		}
	}
}

func (e *endings) all() []*awaitedRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*awaitedRun, 0, len(e.runs))
	for _, r := range e.runs {
		out = append(out, r)
	}
	return out
}

// auditEndings looks at the awaited runs, again and again, and wakes the waiters of those that have
// ended.
func (s *Store) auditEndings(ctx context.Context) error {
	return s.endings.bell.Audit(ctx, s.auditInterval, s.auditOnce)
}

// auditOnce reports whether it found an end that nothing had told.
func (s *Store) auditOnce(ctx context.Context) (missed bool) {
	awaited := s.endings.all()
	for len(awaited) > 0 && ctx.Err() == nil {
		batch := awaited[:min(auditBatch, len(awaited))]
		awaited = awaited[len(batch):]
		// An error is one of the commands', and they are looked at one by one.
		cmds, _ := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, r := range batch {
				p.HGet(ctx, s.keys.of(r.runID).run(), "s")
			}
			return nil
		})
		for i, r := range batch {
			status, err := cmds[i].(*redis.StringCmd).Result()
			if gone := err == redis.Nil; gone || world.RunStatus(status).Terminal() { //nolint:errorlint // go-redis returns it bare
				missed = s.endings.found(r) || missed
			}
		}
	}
	return missed
}

// found wakes the waiters of a run that has ended, and reports whether nothing told them before.
func (e *endings) found(r *awaitedRun) (untold bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	untold, r.told = !r.told, true
	r.wake()
	return untold
}

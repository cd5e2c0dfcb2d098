package storage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis/storage/internal/record"
)

const (
	// cleanupsAtOnce is how many runs a process removes portions of at a time, cleanupBacklog how many wait for that. What is
	// more is left to the sweeper.
	cleanupsAtOnce = 2
	cleanupBacklog = 1000
	// portionPause is the longest pause between two portions. A pause is as long as the portion took, so that others have half
	// of Redis at least.
	portionPause = 10 * time.Millisecond
)

// cleanups removes in the background what the ends of large runs left to portions (portions.go).
type cleanups struct {
	mu      sync.Mutex
	waiting []string
	taken   map[string]bool // runs that wait or are at work
	workers int
	idle    *sync.Cond    // there is no worker any more
	stopped chan struct{} // closed when the process stops
	stop    func()        // closes it
}

func newCleanups() *cleanups {
	c := &cleanups{taken: map[string]bool{}, stopped: make(chan struct{})}
	c.idle = sync.NewCond(&c.mu)
	c.stop = sync.OnceFunc(func() { close(c.stopped) })
	return c
}

// clearLater has what is left of a run removed soon, if something is.
func (s *Store) clearLater(ctx context.Context, run record.Entity) {
	if run.Get(fieldCleanup) == "" || s.cleanups.take(run.RunID, s.clearWaiting) {
		return
	}
	if err := s.noteAtCleanup(ctx, run.RunID, handedOver); err != nil {
		s.tellLeft(ctx, run.RunID, err)
	}
}

func (s *Store) tellLeft(ctx context.Context, runID string, err error) {
	s.log.InfoContext(ctx, "what the end of a run left to remove is left to the sweeper", slog.String("run_id", runID), slog.Any("error", err))
}

// take has a run wait for its turn, and starts another worker if there may be one. It is false when too many wait.
func (c *cleanups) take(runID string, work func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken[runID] {
		return true
	}
	if len(c.waiting) >= cleanupBacklog {
		return false
	}
	c.taken[runID] = true
	c.waiting = append(c.waiting, runID)
	if c.workers < cleanupsAtOnce {
		c.workers++
		go work()
	}
	return true
}

// next ends the work on a run and returns the run to go on with; "" ends the worker.
func (c *cleanups) next(done string) (runID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.taken, done)
	if len(c.waiting) == 0 {
		c.workers--
		c.idle.Broadcast()
		return ""
	}
	runID, c.waiting = c.waiting[0], c.waiting[1:]
	return runID
}

// wait returns when no run waits; once the process stops those that wait are handed over to the sweeper of another one.
func (c *cleanups) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.workers > 0 {
		c.idle.Wait()
	}
}

func (s *Store) clearWaiting() {
	ctx := context.Background()
	for runID := s.cleanups.next(""); runID != ""; runID = s.cleanups.next(runID) {
		if err := s.clearRun(ctx, runID); err != nil {
			s.tellLeft(ctx, runID, err)
		}
	}
}

// clearRun removes portions of a run until none is left, or the process stops.
func (s *Store) clearRun(ctx context.Context, runID string) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-s.cleanups.stopped:
			return s.noteAtCleanup(ctx, runID, handedOver)
		case <-pause.C:
		}
		began := time.Now()
		last, err := s.removePortion(ctx, runID)
		if err != nil || last {
			return err
		}
		if err := s.noteAtCleanup(ctx, runID, s.now()); err != nil {
			return err
		}
		pause.Reset(min(portionPause, time.Since(began)))
	}
}

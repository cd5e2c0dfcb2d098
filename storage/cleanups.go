package storage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis/storage/internal/record"
)

const (
	// cleanupsAtOnce is how many runs a process clears at a time, and cleanupBacklog how many may wait for that. More are left
	// to the sweeper.
	cleanupsAtOnce = 2
	cleanupBacklog = 1000
	// portionPause is the longest pause between two portions. A pause is as long as the portion took, so that other calls get
	// at least half of the time of Redis.
	portionPause = 10 * time.Millisecond
)

// cleanups removes in the background, in portions, what the end of a large run left (portions.go).
type cleanups struct {
	mu      sync.Mutex
	waiting []string
	taken   map[string]bool // runs that wait or are at work
	workers int
	idle    *sync.Cond    // signalled when the last worker ends
	stopped chan struct{} // closed when the process stops
	stop    func()        // closes it
}

func newCleanups() *cleanups {
	c := &cleanups{taken: map[string]bool{}, stopped: make(chan struct{})}
	c.idle = sync.NewCond(&c.mu)
	c.stop = sync.OnceFunc(func() { close(c.stopped) })
	return c
}

// clearLater removes in the background what the end of a run left, if it left anything.
func (s *Store) clearLater(ctx context.Context, run record.Entity) {
	if run.Get(fieldCleanup) == "" || s.cleanups.take(run.RunID, s.clearWaiting) {
		return
	}
	if err := s.noteAtCleanup(ctx, run.RunID, handedOver); err != nil {
		s.logLeft(ctx, run.RunID, err)
	}
}

func (s *Store) logLeft(ctx context.Context, runID string, err error) {
	s.log.InfoContext(ctx, "a run that has ended is not cleared yet; the sweeper goes on", slog.String("run_id", runID), slog.Any("error", err))
}

// take adds a run to those that wait, and starts another worker if there may be one. It returns false when too many runs wait.
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

// has reports whether a run waits or is at work.
func (c *cleanups) has(runID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken[runID]
}

// next ends the work on a run and returns the next run; "" ends the worker.
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

// wait returns when no run waits. Runs that wait when the process stops are left to the sweeper of another process.
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
			s.logLeft(ctx, runID, err)
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

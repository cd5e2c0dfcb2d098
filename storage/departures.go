package storage

import (
	"context"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// departures takes runs off the lists of pending and running ones behind the calls that moved them. Nobody waits for it:
// a list that still has such a run is a hint that readers see through, and what a crash leaves there the sweeper mends.
// Runs that come while others are being taken off go together after them.
type departures struct {
	mu      sync.Mutex
	waiting []runEntry
	quiet   chan struct{} // closed when the goroutine that takes runs off has ended; nil: there is none
}

// depart has a run that is in the list of its status already taken off the others, soon.
func (s *Store) depart(e runEntry) {
	d := &s.departures
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, e)
	if d.quiet == nil {
		d.quiet = make(chan struct{})
		go s.takeAllOff()
	}
}

// next returns the runs to take off, none at the end.
func (d *departures) next() []runEntry {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.waiting
	d.waiting = nil
	if len(now) == 0 {
		close(d.quiet)
		d.quiet = nil
	}
	return now
}

// wait returns when no run is waiting.
func (d *departures) wait() {
	d.mu.Lock()
	quiet := d.quiet
	d.mu.Unlock()
	if quiet != nil {
		<-quiet
	}
}

func (s *Store) takeAllOff() {
	ctx := context.Background()
	for now := s.departures.next(); len(now) > 0; now = s.departures.next() {
		if err := s.send.Commands(ctx, func(p redis.Pipeliner) { s.takeOff(ctx, p, now...) }); err != nil {
			s.log.InfoContext(ctx, "runs are left in lists of an earlier status for the sweeper", slog.Int("runs", len(now)), slog.Any("error", err))
			continue
		}
		for _, e := range now {
			if err := s.bringBack(ctx, e); err != nil {
				s.log.WarnContext(ctx, "a run may be in no list after a failover of Redis; wake it by `world-redis runs wake`", slog.String("run_id", e.runID), slog.Any("error", err))
			}
		}
	}
}

// takeOff queues the removal of runs from the lists that they have been in before.
func (s *Store) takeOff(ctx context.Context, p redis.Pipeliner, entries ...runEntry) {
	pending, running, ended := make([]any, 0, len(entries)), make([]any, 0, len(entries)), make([]any, 0, len(entries))
	for _, e := range entries {
		pending = append(pending, e.runID)
		if e.status.Terminal() {
			ended = append(ended, e.runID)
		}
		if e.status.Terminal() || e.status == world.RunPaused {
			running = append(running, e.runID)
		}
	}
	p.ZRem(ctx, s.keys.runsByStatus(world.RunPending), pending...)
	if len(running) > 0 {
		p.ZRem(ctx, s.keys.runsByStatus(world.RunRunning), running...)
	}
	if len(ended) > 0 {
		p.ZRem(ctx, s.keys.runsWatch(), ended...) // last: a look at a watched run compares it with the lists above
	}
}

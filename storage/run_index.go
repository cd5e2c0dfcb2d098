package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

func (s *Store) newIndex() *runindex.Index {
	return runindex.New(runindex.Config{
		Redis: s.redis, Send: s.send, Clustered: s.clustered, Prefix: s.keys.prefix, Log: s.log, Now: s.now,
		Dials:  func() uint64 { return s.dials() },
		RunKey: func(runID string) string { return s.keys.of(runID).run() },
		Peek:   s.peekRun, Settle: s.settle, Reclaim: s.reclaimHooks,
	})
}

// entryFor is the entry of a run to which a call gives the status.
func (s *Store) entryFor(c *call, status world.RunStatus) runindex.Entry {
	e := s.index.Entry(c.req.RunID, "", c.now, status)
	e.Dials = c.dials
	return e
}

// applyEntered is apply for an event that moves a run to the status of the entry, which it enters in the same round trip.
func (s *Store) applyEntered(ctx context.Context, c *call, e runindex.Entry, script script, keys []string, args ...any) (scriptOutcome, error) {
	front := func(p redis.Pipeliner) {
		if e.Status == world.RunCancelled || e.Status == world.RunFailed {
			s.index.Watch(ctx, p, e.RunID) // it may have been parked
		}
		s.index.Enter(ctx, p, e)
	}
	o, err := s.applyWith(ctx, c, false, front, script, keys, args...)
	switch world.ErrorCode(err) {
	case "", world.CodeUnavailable:
		// Applied, or sent without an answer. In the second case the same event comes again, or the sweeper finds the run in its
		// old list. If it was never applied, readers skip the entry, and remove it when the run has ended in another way.
	case world.CodeRunNotFound:
		s.index.Withdraw(ctx, e)
	default:
		s.index.Correct(ctx, e)
	}
	return o, err
}

// peekRun reads a run without its payloads; found is false for a run that does not exist.
func (s *Store) peekRun(ctx context.Context, runID string) (run world.Run, found bool, err error) {
	run, err = s.GetRun(ctx, runID, true)
	switch world.ErrorCode(err) {
	case "":
		return run, true, nil
	case world.CodeRunNotFound:
		return run, false, nil
	default:
		return run, false, err
	}
}

package storage

import (
	"context"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// runEntry is a run's place in the lists of runs.
type runEntry struct {
	runID, name string
	status      world.RunStatus
	score       float64
	dials       uint64 // connections to Redis that had been opened when the run got the status, or before
}

func (s *Store) entryOf(runID, name string, now world.Millis, status world.RunStatus) runEntry {
	ms, ok := runTime(runID)
	if !ok {
		ms = now
	}
	return runEntry{runID: runID, name: name, status: status, score: float64(ms), dials: s.dials()}
}

// entryFor is the entry of a run to which a call gives the status.
func (s *Store) entryFor(c *call, status world.RunStatus) runEntry {
	e := s.entryOf(c.req.RunID, "", c.now, status)
	e.dials = c.dials
	return e
}

// add queues the entry into every list it belongs to; the watch is first, so that the others are found after a crash.
func (s *Store) add(ctx context.Context, p redis.Pipeliner, e runEntry) {
	s.watch(ctx, p, e.runID)
	z := redis.Z{Score: e.score, Member: e.runID}
	p.ZAdd(ctx, s.keys.runsIndex(), z)
	p.ZAdd(ctx, s.keys.runsByName(e.name), z)
	s.enter(ctx, p, e)
}

// statuses lists every run status.
var statuses = []world.RunStatus{world.RunPending, world.RunRunning, world.RunCompleted, world.RunFailed, world.RunCancelled, world.RunPaused}

// moveRun puts a run into the list of its status and takes it off the others. For a run that
// has ended, being off the lists of the living is the sign that its clean-up is complete, so
// this comes last then.
func (s *Store) moveRun(ctx context.Context, e runEntry) error {
	err := s.send.Commands(ctx, func(p redis.Pipeliner) {
		s.enter(ctx, p, e)
		if !s.clustered {
			s.takeOff(ctx, p, e)
		}
	})
	if err == nil && s.clustered {
		err = s.send.Commands(ctx, func(p redis.Pipeliner) { s.takeOff(ctx, p, e) })
	}
	if err != nil {
		return fail(err)
	}
	return s.bringBack(ctx, e)
}

// enter queues the entry into the list of its status, where it may be before the run has that status: readers go by the
// run. Off the other lists it goes when the run has it.
func (s *Store) enter(ctx context.Context, p redis.Pipeliner, e runEntry) {
	p.ZAdd(ctx, s.keys.runsByStatus(e.status), redis.Z{Score: e.score, Member: e.runID})
}

// applyEntered is apply for an event that moves a run to the status of the entry, which it enters in the same round trip.
func (s *Store) applyEntered(ctx context.Context, c *call, e runEntry, script script, keys []string, args ...any) (outcome, error) {
	front := func(p redis.Pipeliner) {
		if e.status == world.RunCancelled || e.status == world.RunFailed {
			s.watch(ctx, p, e.runID) // it may have been parked
		}
		s.enter(ctx, p, e)
	}
	o, err := s.applyWith(ctx, c, false, front, script, keys, args...)
	switch world.ErrorCode(err) {
	case "", world.CodeUnavailable:
		// Applied; or sent and not known to be done. Then the same event comes again, or the sweeper, which finds the run in
		// its old list. If it was not done and never is, readers skip the entry, and take it away once the run has ended otherwise.
	case world.CodeRunNotFound:
		// The run may come to be, and start, at this moment: then it needs the entry. If it does not, the next look
		// at the run removes the entry.
		_, left := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			if e.status.Terminal() {
				p.ZRem(ctx, s.keys.runsByStatus(e.status), e.runID)
			} else {
				s.watch(ctx, p, e.runID)
			}
			return nil
		})
		if left != nil {
			s.log.InfoContext(ctx, "a ghost stays in a list of runs", slog.String("run_id", e.runID), slog.Any("error", left))
		}
	default:
		s.correct(ctx, e)
	}
	return o, err
}

// correct compares an entry that was written for a call that was then refused with the run
// itself, and takes back what is not true. What fails here is mended by the sweeper.
func (s *Store) correct(ctx context.Context, e runEntry) {
	run, found, err := s.peekRun(ctx, e.runID)
	switch {
	case err != nil:
	case !found:
		err = s.dropRun(ctx, e)
	case run.Status.Terminal():
		// The call that ended it may have broken off, and this entry be all that the sweeper has.
		if err = s.settle(ctx, run, e); err == nil {
			err = s.takeBack(ctx, run, e)
		}
	default:
		err = s.takeBack(ctx, run, e)
	}
	if err != nil {
		s.log.InfoContext(ctx, "an entry in the lists of runs is left for the sweeper",
			slog.String("run_id", e.runID), slog.Any("error", err))
	}
}

// takeBack removes the parts of an entry that are not true of the run.
func (s *Store) takeBack(ctx context.Context, run world.Run, e runEntry) error {
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		if run.Status != e.status {
			p.ZRem(ctx, s.keys.runsByStatus(e.status), e.runID)
		}
		if e.name != "" && run.WorkflowName != e.name {
			p.ZRem(ctx, s.keys.runsByName(e.name), e.runID)
		}
		return nil
	})
	return fail(err)
}

// dropRun takes a run that does not exist off the lists, and puts it back when it came to
// exist meanwhile.
func (s *Store) dropRun(ctx context.Context, e runEntry) error {
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRem(ctx, s.keys.runsIndex(), e.runID)
		p.ZRem(ctx, s.keys.runsByName(e.name), e.runID)
		for _, status := range statuses {
			p.ZRem(ctx, s.keys.runsByStatus(status), e.runID)
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	run, found, err := s.peekRun(ctx, e.runID)
	if err != nil || !found {
		return err
	}
	return s.enterAsIs(ctx, run, e.score)
}

// enterAsIs enters a run into the lists that it belongs to.
func (s *Store) enterAsIs(ctx context.Context, run world.Run, score float64) error {
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		s.add(ctx, p, runEntry{runID: run.RunID, name: run.WorkflowName, status: run.Status, score: score})
		return nil
	})
	return fail(err)
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

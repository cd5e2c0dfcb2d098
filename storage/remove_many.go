package storage

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// Runs that are due are removed many at a time, in the steps of RemoveRun (remove.go): each step is one round trip for all of them. A
// run with more than one portion of entries is taken out of sight with the others, and the rest of it is removed in the background
// (remove_large.go), so that it does not hold up small ones.

// hiddenRun is a run that is out of sight.
type hiddenRun struct{ id, name string }

// scriptsAtOnce is how many scripts of a removal are sent in one pipeline.
const scriptsAtOnce = 1000

// removeRuns removes runs that have ended. It sets when those are looked at again that cannot be removed yet.
func (s *Store) removeRuns(ctx context.Context, due []*dueRun) error {
	if len(due) == 0 {
		return nil
	}
	begun := make([]redis.Z, len(due))
	for i, d := range due {
		begun[i] = redis.Z{Score: float64(s.now()), Member: d.id}
	}
	if err := s.redis.ZAdd(ctx, s.keys.removals(), begun...).Err(); err != nil {
		return fail(err)
	}
	hidden, err := s.hideRuns(ctx, due)
	if err != nil {
		return err
	}
	small, err := s.removeFirstPortions(ctx, hidden)
	if err != nil {
		return err
	}
	return s.removeRests(ctx, small)
}

// hideRuns takes runs out of sight.
func (s *Store) hideRuns(ctx context.Context, due []*dueRun) (hidden []hiddenRun, err error) {
	now := s.now()
	inputs := make([]scriptInput, len(due))
	for i, d := range due {
		inputs[i] = s.hideInput(d.id, d.run.WorkflowName, now)
	}
	replies, err := s.runMany(ctx, s.scripts.runRemove, inputs)
	if err != nil {
		return nil, err
	}
	var kept []any
	for i, d := range due {
		code, err := replies[i].Code()
		if err != nil {
			return nil, fail(err)
		}
		switch code {
		case codeDone:
			hidden = append(hidden, hiddenRun{d.id, d.run.WorkflowName})
			s.countDue(d)
		case codeUnchanged:
			if name := replies[i].Text(1); name != "" || d.run.WorkflowName == "" {
				hidden = append(hidden, hiddenRun{d.id, name})
			} else {
				kept = append(kept, d.id)
			}
		case codeRunUncleared:
			d.next = now + dueAgain
			if err := s.clearBefore(ctx, d); err != nil {
				return nil, err
			}
			kept = append(kept, d.id)
		case codeRunHeld:
			if d.next, err = s.heldUntil(ctx, d.id); err != nil {
				return nil, err
			}
			kept = append(kept, d.id)
		default: // there is no such run, or it has not ended
			kept = append(kept, d.id)
		}
	}
	if len(kept) == 0 {
		return hidden, nil
	}
	return hidden, fail(s.redis.ZRem(ctx, s.keys.removals(), kept...).Err())
}

func (s *Store) countDue(d *dueRun) {
	switch {
	case d.early:
		s.dueRuns.count(RemovedEarly)
	case d.own:
		s.dueRuns.count(RemovedByItself)
	default:
		s.dueRuns.count(RemovedByRule)
	}
}

// clearBefore completes the end of a run that is to be removed. What is left of a large run is removed in the background, and the run
// is looked at again afterwards.
func (s *Store) clearBefore(ctx context.Context, d *dueRun) error {
	if err := s.settle(ctx, *d.run, s.index.Entry(d.id, d.run.WorkflowName, d.run.CreatedAt, d.run.Status)); err != nil {
		return err
	}
	cleared, err := s.redis.HGet(ctx, s.keys.of(d.id).run(), fieldCleanup).Result()
	switch {
	case errors.Is(err, redis.Nil): // nothing is left
		d.next = s.now()
	case err != nil:
		return fail(err)
	}
	s.clearLater(ctx, record.Entity{RunID: d.id, Fields: record.Reply{fieldCleanup, cleared}})
	return nil
}

// removeFirstPortions removes the log, the steps and the locators of runs. It returns the runs of which this was all; the others are
// left to the background.
func (s *Store) removeFirstPortions(ctx context.Context, hidden []hiddenRun) (small []hiddenRun, err error) {
	related, steps := make([]*redis.StringSliceCmd, len(hidden)), make([]*redis.StringSliceCmd, len(hidden))
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, run := range hidden {
			k := s.keys.of(run.id)
			related[i], steps[i] = p.ZRange(ctx, k.related(), 0, removeAtOnce-1), p.ZRange(ctx, k.steps(), 0, removeAtOnce-1)
		}
		return nil
	})
	if err != nil && len(hidden) > 0 {
		return nil, fail(err)
	}
	var locators []scriptInput
	var entities [][]string
	for i, run := range hidden {
		if len(related[i].Val()) == removeAtOnce || len(steps[i].Val()) == removeAtOnce {
			s.removeLater(ctx, run.id)
			continue
		}
		found := s.entitiesOf(run.id, related[i].Val(), steps[i].Val())
		locators = append(locators, found.locators...)
		entities = append(entities, found.keys)
		small = append(small, run)
	}
	for len(locators) > 0 {
		n := min(scriptsAtOnce, len(locators))
		if _, err := s.runMany(ctx, s.scripts.locatorRelease, locators[:n]); err != nil {
			return nil, err
		}
		locators = locators[n:]
	}
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, run := range small {
			p.Unlink(ctx, append(entities[i], s.keys.of(run.id).logKeys()...)...)
		}
		return nil
	})
	if err != nil && len(small) > 0 {
		return nil, fail(err)
	}
	return small, nil
}

// removeRests removes what runs without a log have left, and gives their marks an end.
func (s *Store) removeRests(ctx context.Context, hidden []hiddenRun) error {
	if len(hidden) == 0 {
		return nil
	}
	ids, members, entries := make([]string, len(hidden)), make([]any, len(hidden)), make([]runindex.Entry, len(hidden))
	for i, run := range hidden {
		ids[i], members[i], entries[i] = run.id, run.id, s.index.Entry(run.id, run.name, 0, "")
	}
	for _, remove := range []func(context.Context, []string) error{s.removeStreams, s.removeMessages, s.noteRemoved} {
		if err := remove(ctx, ids); err != nil {
			return err
		}
	}
	if err := s.index.Remove(ctx, entries...); err != nil {
		return fail(err)
	}
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, runID := range ids {
			removed := s.keys.of(runID).removed()
			p.HDel(ctx, removed, "w")
			p.Expire(ctx, removed, removedFor)
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	return fail(s.redis.ZRem(ctx, s.keys.removals(), members...).Err())
}

// hideInput returns the keys and arguments of lua/run_remove.lua.
func (s *Store) hideInput(runID, name string, now world.Millis) scriptInput {
	k := s.keys.of(runID)
	buckets := k.event(now)[3:5]
	return scriptInput{
		keys: []string{k.run(), k.removed(), k.hooks(), k.leftHooks(), k.hooksOrder(), k.fence(), buckets[0], buckets[1]},
		args: []any{strconv.FormatInt(int64(now), 10), name},
	}
}

// removeLater has a run that is out of sight removed in the background.
func (s *Store) removeLater(ctx context.Context, runID string) {
	if !s.removing.take(runID, s.removeWaiting) {
		s.log.DebugContext(ctx, "a run that is being removed is left to a later pass of the sweeper", slog.String("run_id", runID))
	}
}

// removeWaiting removes large runs until none waits. A run whose removal fails stays in the list of removals, where the sweeper finds
// it.
func (s *Store) removeWaiting() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.removing.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	for runID := s.removing.next(""); runID != ""; runID = s.removing.next(runID) {
		if err := s.resumeRemoval(ctx, runID); err != nil && ctx.Err() == nil {
			s.log.InfoContext(ctx, "the removal of a run is interrupted; the sweeper goes on", slog.String("run_id", runID), slog.Any("error", err))
		}
	}
}

package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// The removal of a run has three parts. First the run enters the list of removals. Then one script takes it out of sight: its hash
// goes, and a mark stands in its place, so that no late call creates it anew. The rest of its data follows in portions, and the entry
// in the list goes last. Each part can be repeated, so the sweeper completes what a crash interrupted.

const (
	// removeAtOnce is how many entries of a run's lists one portion removes.
	removeAtOnce = 250
	// removedFor is how long the mark of a removed run stays. No message of the run can be in flight unnoticed for longer.
	removedFor = time.Hour
	// removalsAtOnce is how many interrupted removals the sweeper continues in a pass.
	removalsAtOnce = 10
)

var _ world.RunRemover = (*Store)(nil)

// RemoveRun implements world.RunRemover.
func (s *Store) RemoveRun(ctx context.Context, runID string) error {
	if err := world.CheckID("runId", runID); err != nil {
		return err
	}
	run, found, err := s.peekRun(ctx, runID)
	if err != nil {
		return err
	}
	if !found {
		return s.resumeRemoval(ctx, runID)
	}
	if !run.Status.Terminal() {
		return activeRun(runID, string(run.Status))
	}
	if err := s.redis.ZAdd(ctx, s.keys.removals(), redis.Z{Score: float64(s.now()), Member: runID}).Err(); err != nil {
		return fail(err)
	}
	name, err := s.hideRun(ctx, run)
	if err == nil {
		s.dueRuns.count(RemovedByRequest)
		return s.removeRest(context.WithoutCancel(ctx), runID, name)
	}
	if code := world.ErrorCode(err); code == world.CodeConflict || code == world.CodeRunNotFound {
		err = errors.Join(err, s.forgetRemoval(ctx, runID))
	}
	return err
}

func activeRun(runID, status string) error {
	return world.Errorf(world.CodeConflict, "Workflow run %q is %s; a run can be removed once it has ended", runID, status)
}

// resumeRemoval completes the removal of a run that is out of sight already.
func (s *Store) resumeRemoval(ctx context.Context, runID string) error {
	mark, err := s.redis.HMGet(ctx, s.keys.of(runID).removed(), "s", "w").Result()
	if err != nil {
		return fail(err)
	}
	if mark[0] == nil {
		return world.RunNotFound(runID)
	}
	name, going := mark[1].(string)
	if !going {
		return s.forgetRemoval(ctx, runID) // the rest is done
	}
	return s.removeRest(context.WithoutCancel(ctx), runID, name)
}

// hideRun takes a run that has ended out of sight, and returns the name of its workflow. It completes the run's end first, if that
// is not complete.
func (s *Store) hideRun(ctx context.Context, run world.Run) (name string, err error) {
	for {
		answer, code, err := s.tryHiding(ctx, run)
		switch {
		case err != nil:
			return "", err
		case code == codeRunUncleared:
			if err := s.completeEnd(ctx, run); err != nil {
				return "", err
			}
			continue
		case code == codeRunMissing:
			return "", world.RunNotFound(run.RunID)
		case code == codeRunActive:
			return "", activeRun(run.RunID, answer.Text(1))
		case code == codeRunHeld:
			return "", world.Errorf(world.CodeConflict, "Workflow run %q has hooks that keep their tokens (tokenRetentionUntil); it can be removed when that is over", run.RunID)
		case code == codeUnchanged && answer.Text(1) == "":
			return run.WorkflowName, nil
		default:
			return answer.Text(1), nil
		}
	}
}

func (s *Store) tryHiding(ctx context.Context, run world.Run) (answer record.Reply, code int, err error) {
	in := s.hideInput(run.RunID, run.WorkflowName, s.now())
	r, err := s.scripts.runRemove.Run(ctx, s.redis, in.keys, in.args...)
	if err != nil {
		return nil, 0, fail(err)
	}
	answer = r
	code, err = answer.Code()
	return answer, code, fail(err)
}

// completeEnd does what the call that ended a run, or the process that clears it, has not done yet.
func (s *Store) completeEnd(ctx context.Context, run world.Run) error {
	if err := s.settle(ctx, run, s.index.Entry(run.RunID, run.WorkflowName, run.CreatedAt, run.Status)); err != nil {
		return err
	}
	for {
		last, err := s.removePortion(ctx, run.RunID)
		if err != nil || last {
			return err
		}
	}
}

// removeRest removes what a run that is out of sight has left, in portions with pauses as long as the portions.
func (s *Store) removeRest(ctx context.Context, runID, name string) error {
	if err := s.removeListed(ctx, runID); err != nil {
		return err
	}
	if err := s.redis.Unlink(ctx, s.keys.of(runID).logKeys()...).Err(); err != nil {
		return fail(err)
	}
	return s.removeRests(ctx, []hiddenRun{{runID, name}})
}

func (s *Store) forgetRemoval(ctx context.Context, runID string) error {
	return fail(s.redis.ZRem(ctx, s.keys.removals(), runID).Err())
}

// removeListed removes the steps of a run, and the locators of its entities.
func (s *Store) removeListed(ctx context.Context, runID string) error {
	k := s.keys.of(runID)
	for {
		began := time.Now()
		var related, steps *redis.StringSliceCmd
		_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			related, steps = p.ZRange(ctx, k.related(), 0, removeAtOnce-1), p.ZRange(ctx, k.steps(), 0, removeAtOnce-1)
			return nil
		})
		if err != nil {
			return fail(err)
		}
		if len(related.Val())+len(steps.Val()) == 0 {
			return nil
		}
		if err := s.removeEntities(ctx, runID, related.Val(), steps.Val()); err != nil {
			return err
		}
		if err := s.pauseRemoval(ctx, runID, time.Since(began)); err != nil {
			return err
		}
	}
}

// noteRemoval notes that a removal is being worked on.
func (s *Store) noteRemoval(ctx context.Context, runID string) error {
	return fail(s.redis.ZAddXX(ctx, s.keys.removals(), redis.Z{Score: float64(s.now()), Member: runID}).Err())
}

// pauseRemoval notes the progress of a removal and waits as long as the last portion took.
func (s *Store) pauseRemoval(ctx context.Context, runID string, took time.Duration) error {
	if err := s.noteRemoval(ctx, runID); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(portionPause, took)):
		return nil
	}
}

// runEntities is what entries of a run's lists stand for.
type runEntities struct {
	keys     []string      // of steps, in the run's slot
	locators []scriptInput // of lua/locator_release.lua
}

// entitiesOf returns the entities that entries of the two lists of a run name.
func (s *Store) entitiesOf(runID string, related, steps []string) runEntities {
	k := s.keys.of(runID)
	seen := map[string]bool{}
	locators := map[string][]any{}
	var out runEntities
	note := func(id string) {
		if !seen[id] {
			seen[id] = true
			out.keys = append(out.keys, k.step(id))
			locators[s.keys.locator(id)] = append(locators[s.keys.locator(id)], id)
		}
	}
	for _, member := range related { // <correlation id>/<position>
		note(member[:strings.LastIndexByte(member, '/')])
	}
	for _, stepID := range steps {
		note(stepID)
	}
	for key, found := range locators {
		out.locators = append(out.locators, scriptInput{keys: []string{key}, args: append([]any{runID}, found...)})
	}
	return out
}

func (s *Store) removeEntities(ctx context.Context, runID string, related, steps []string) error {
	k, found := s.keys.of(runID), s.entitiesOf(runID, related, steps)
	if _, err := s.runMany(ctx, s.scripts.locatorRelease, found.locators); err != nil {
		return err
	}
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Unlink(ctx, found.keys...)
		if len(related) > 0 {
			p.ZRem(ctx, k.related(), asArgs(related)...)
		}
		if len(steps) > 0 {
			p.ZRem(ctx, k.steps(), asArgs(steps)...)
		}
		return nil
	})
	return fail(err)
}

// sweepRemovals completes removals that nobody has worked on for a minute.
func (s *Store) sweepRemovals(ctx context.Context) (more bool, err error) {
	rows, err := s.redis.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: s.keys.removals(), Start: "-inf", Stop: int64(s.now() - sweepAge), ByScore: true, Count: removalsAtOnce,
	}).Result()
	if err != nil {
		return false, fail(err)
	}
	var failed []error
	for _, runID := range rows {
		if s.removing.has(runID) { // it waits for another large one
			if err := s.noteRemoval(ctx, runID); err != nil {
				failed = append(failed, err)
			}
			continue
		}
		err := s.RemoveRun(ctx, runID)
		if code := world.ErrorCode(err); code == world.CodeRunNotFound || code == world.CodeConflict {
			err = s.forgetRemoval(ctx, runID) // it was not begun
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("run %s: %w", runID, err), s.noteRemoval(ctx, runID)) // the others go on
			continue
		}
		s.log.InfoContext(ctx, "the storage sweeper completed the removal of a run", slog.String("run_id", runID))
	}
	return len(rows) == removalsAtOnce, errors.Join(failed...)
}

func asArgs(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

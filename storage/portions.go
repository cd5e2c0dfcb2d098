package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// No script's work grows with a run. The end of a large run takes no longer than any other, and leaves the rest to portions. Nobody
// sees that rest: hooks do not live after the end of their run (lua/lib/hook.lua), so their tokens can be claimed, and a run that
// keeps nothing shows no payload (lua/lib/log.lua).
//
// The field cl of the run says that there is a rest. The run also enters the list runsCleanup, after its end and before it leaves
// the watch, so after a crash it is in one of the two. The process that ended the run clears it at once, and notes the time in the
// list after each portion. The sweeper takes over a run whose time is a minute old.

const (
	// fieldCleanup is the field of a run that says that something of it is left to remove.
	fieldCleanup = "cl"
	// portionEvents and portionHooks are how much one portion removes: a few milliseconds of Redis, in which other calls wait.
	portionEvents = 250
	portionHooks  = 200
	// sweptPortions is how many portions of a run the sweeper removes before other work gets its turn, and sweptCleanups of how
	// many runs.
	sweptPortions = 20
	sweptCleanups = 10
)

// noteCleanup enters a run into the list of runs to clear, if something of it is left.
func (s *Store) noteCleanup(ctx context.Context, run record.Entity) error {
	if run.Get(fieldCleanup) == "" {
		return nil
	}
	return fail(s.redis.ZAddNX(ctx, s.keys.runsCleanup(), redis.Z{Score: float64(s.now()), Member: run.RunID}).Err())
}

// removePortion removes the next portion of what the end of a run left, and reports whether that was the last.
func (s *Store) removePortion(ctx context.Context, runID string) (last bool, err error) {
	k := s.keys.of(runID)
	r, err := s.scripts.runClear.Run(ctx, s.redis, []string{k.run(), k.events(), k.hooks(), k.hooksOrder()},
		strconv.FormatInt(int64(s.now()), 10), portionEvents, portionHooks)
	if err != nil {
		return false, fail(err)
	}
	answer := record.Reply(r)
	code, err := answer.Code()
	if err != nil {
		return false, fail(err)
	}
	if code == codeDone {
		if err := s.release(ctx, leftHooks(runID, answer.List(2)), true); err != nil {
			return false, err
		}
		if answer.Number(1) != 0 {
			return false, nil
		}
		if err := s.redis.HDel(ctx, k.run(), fieldCleanup, "ch").Err(); err != nil {
			return false, fail(err)
		}
	}
	return true, fail(s.redis.ZRem(ctx, s.keys.runsCleanup(), runID).Err())
}

// sweepCleanups removes portions of runs whose process has not done so for a minute, and reports whether there is more.
func (s *Store) sweepCleanups(ctx context.Context) (more bool, err error) {
	rows, err := s.redis.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: s.keys.runsCleanup(), Start: "-inf", Stop: int64(s.now() - sweepAge), ByScore: true, Count: sweptCleanups,
	}).Result()
	if err != nil {
		return false, fail(err)
	}
	mended := 0
	var failed []error
	for _, row := range rows {
		runID, last := row.Member.(string), false
		for n := 0; n < sweptPortions && !last && err == nil; n++ {
			last, err = s.removePortion(ctx, runID)
		}
		switch {
		case err != nil: // the others go on
			failed = append(failed, fmt.Errorf("run %s: %w", runID, err), s.noteAtCleanup(ctx, runID, s.now()))
			err = nil
		case !last:
			more = true
		case row.Score != handedOver:
			mended++
		}
	}
	s.logCrash(ctx, mended)
	return more || len(rows) == sweptCleanups, errors.Join(failed...)
}

// handedOver is the score of a run that its process has left to the sweeper, which is no crash.
const handedOver = 0

// noteAtCleanup notes when a portion of a run was removed, unless the run is done.
func (s *Store) noteAtCleanup(ctx context.Context, runID string, at world.Millis) error {
	return fail(s.redis.ZAddXX(ctx, s.keys.runsCleanup(), redis.Z{Score: float64(at), Member: runID}).Err())
}

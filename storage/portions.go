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

// No script's work grows with a run: the end of a large one is as short as that of any other, and leaves the rest to portions.
// From the end on nobody sees that rest. Hooks do not live when their run has ended (lua/lib/hook.lua), so their tokens
// can be claimed; and a run that keeps nothing shows no payload (lua/lib/log.lua).
//
// The field cl of the run says that there is a rest. The run also enters the list runsCleanup, behind its end and before it
// leaves the watch; so after a crash it is found in one of the two. The process that ended the run goes on at once, and notes at
// each portion in the list that it is at it. The sweeper takes over what nobody was at for a minute.

const (
	// fieldCleanup is the field of a run that says that something of it is left to remove.
	fieldCleanup = "cl"
	// portionEvents and portionHooks are how much one portion removes: some milliseconds of Redis, in which others wait.
	portionEvents = 250
	portionHooks  = 200
	// sweptPortions is how many portions of a run the sweeper does before other work gets its turn, and sweptCleanups of how many runs.
	sweptPortions = 20
	sweptCleanups = 10
)

// noteCleanup enters a run of which something is left to remove into the list of those.
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

// sweepCleanups does some of what nobody was at for a minute, and reports whether there is more.
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
		case err != nil: // others need not wait for this one
			failed = append(failed, fmt.Errorf("run %s: %w", runID, err), s.noteAtCleanup(ctx, runID, s.now()))
			err = nil
		case !last:
			more = true
		case row.Score != handedOver:
			mended++
		}
	}
	s.tellCrash(ctx, mended)
	return more || len(rows) == sweptCleanups, errors.Join(failed...)
}

// handedOver is the score of a run that its process has left to the sweeper. Nothing crashed then.
const handedOver = 0

// noteAtCleanup notes when somebody was at what is left to remove of a run, unless that is done.
func (s *Store) noteAtCleanup(ctx context.Context, runID string, at world.Millis) error {
	return fail(s.redis.ZAddXX(ctx, s.keys.runsCleanup(), redis.Z{Score: float64(at), Member: runID}).Err())
}

package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// lapseBatch is how many hooks whose retention is over are released at a time: about 10 ms of Redis, in short commands.
const lapseBatch = 500

// watchLapse queues the entry of a hook that outlives its run into the list of lapses. It is due in a minute at the earliest,
// when the call that creates the hook is over. So the sweeper can sleep until the first entry is due, or for a minute.
func (s *Store) watchLapse(ctx context.Context, p redis.Pipeliner, member string, until world.Millis) {
	p.ZAdd(ctx, s.keys.hooksLapse(), redis.Z{Score: float64(max(until, s.now()+sweepAge)), Member: member})
}

// lapsing is an entry of the list of lapses, with the state of its hook and run.
type lapsing struct {
	paging.Place
	runID, hookID string
	hook          *redis.StringCmd
	status        *redis.StringCmd
}

// letLapse releases hooks that are due, lapseBatch at most, and reports whether there may be more. A hook lives at least as
// long as its run, and the end of the run removes it. A batch takes three round trips. Its entries are removed last, so that a
// crash repeats the batch.
func (s *Store) letLapse(ctx context.Context) (more bool, err error) {
	now := s.now()
	rows, err := s.redis.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: s.keys.hooksLapse(), Start: "-inf", Stop: int64(now), ByScore: true, Count: lapseBatch,
	}).Result()
	if err != nil || len(rows) == 0 {
		return false, fail(err)
	}
	due := make([]lapsing, len(rows))
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, row := range rows {
			d := &due[i]
			d.Place = paging.Place{MS: world.Millis(row.Score), ID: row.Member.(string)}
			d.runID, d.hookID, _ = strings.Cut(d.ID, "/")
			k := s.keys.of(d.runID)
			d.hook, d.status = p.HGet(ctx, k.hooks(), d.hookID), p.HGet(ctx, k.run(), "s")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fail(err)
	}
	var gone []record.HeldHook
	var done []any
	var later []redis.Z
	for _, d := range due {
		held, ok := record.ParseHook(d.runID, d.hookID, d.hook.Val())
		switch ends := d.ends(held, now); {
		case !ok:
			if _, err := s.tidy(ctx, d.runID, d.hookID); err != nil {
				return false, err
			}
			done = append(done, d.ID)
		case ends > now:
			later = append(later, redis.Z{Score: float64(ends), Member: d.ID})
		case world.RunStatus(d.status.Val()).Terminal():
			gone = append(gone, held)
		default:
			done = append(done, d.ID)
		}
	}
	if err := s.release(ctx, gone, true); err != nil {
		return false, err
	}
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		if len(done) > 0 {
			p.ZRem(ctx, s.keys.hooksLapse(), done...)
		}
		if len(later) > 0 {
			p.ZAdd(ctx, s.keys.hooksLapse(), later...)
		}
		return nil
	})
	return len(rows) == lapseBatch, fail(err)
}

// ends is when a hook is to be looked at next. While its run lives, that is once more a minute after its retention, because a
// replica whose clock is slow may end the run and then still keeps the hook.
func (d *lapsing) ends(held record.HeldHook, now world.Millis) world.Millis {
	if held.Until > now || world.RunStatus(d.status.Val()).Terminal() {
		return held.Until
	}
	return held.Until + sweepAge
}

// untilLapse is how long it takes until the next hook lapses, a minute at most.
func (s *Store) untilLapse(ctx context.Context) (world.Millis, error) {
	first, err := s.redis.ZRangeWithScores(ctx, s.keys.hooksLapse(), 0, 0).Result()
	if err != nil || len(first) == 0 {
		return sweepAge, fail(err)
	}
	return min(sweepAge, max(0, world.Millis(first[0].Score)-s.now())), nil
}

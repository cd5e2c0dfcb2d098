package storage

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

const (
	// sweepBatch is how many entries of a list the sweeper looks at in one go.
	sweepBatch = 200
	// sweepPause is the pause between two batches while there are more.
	sweepPause = 100 * time.Millisecond
	// sweepAge is how old an entry must be before it counts as left behind.
	sweepAge = runindex.Grace
	// lapsesAtOnce is how many batches of lapsed hooks go before other work gets its turn.
	lapsesAtOnce = 20
)

// Run does what goes on in the background until ctx ends: it sweeps while this process leads, and listens for the ends of runs
// that somebody awaits here. What calls have left to do behind them is done when it returns.
func (s *Store) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return s.mend(ctx) })
	parts.Go(func() error { return s.waiters.Run(ctx) })
	err := parts.Wait()
	s.cleanups.stop()
	s.cleanups.wait()
	s.index.WaitUnlisted()
	return err
}

// mend sweeps while this process leads. What one sweeper was at when it stood still does no harm when it goes on beside another one:
//
//   - What is removed is found to be over by what stands in Redis, and goes by its own value or is written again if it lives (tidy,
//     restoreEntry, and Drop of runindex); a script looks before it removes a portion.
//   - The places up to which hooks and runs were looked at are those of work that is done. An older place has some looked at again.
//   - Entries are added to lists of hints.
func (s *Store) mend(ctx context.Context) error {
	timer := time.NewTimer(min(s.interval, time.Second))
	defer timer.Stop()
	var pace walkPace
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if !s.leadership.Await(ctx) {
			return nil
		}
		var wait time.Duration
		leads, err := s.leadership.Lead(ctx, func(ctx context.Context) (err error) {
			wait, err = s.sweepOnce(ctx, &pace)
			return err
		})
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.WarnContext(ctx, "the storage sweeper failed; it tries again", slog.Any("error", err))
			wait = min(s.interval, 5*time.Second)
		case !leads:
			wait = sweepPause
		}
		timer.Reset(wait)
	}
}

// walkPace is what a sweeper knows of the walk.
type walkPace struct {
	over bool         // the first pass is over
	last world.Millis // when it went on last
}

// sweepOnce does what there is to do and returns how long to wait for the next time.
func (s *Store) sweepOnce(ctx context.Context, pace *walkPace) (time.Duration, error) {
	more, err := s.Sweep(ctx)
	if err != nil {
		return 0, err
	}
	if now := s.now(); !pace.over || now-pace.last >= sweepAge {
		n := walkSlowly
		if !pace.over {
			n = sweepBatch
		}
		first, err := s.walk(ctx, n)
		if err != nil {
			return 0, err
		}
		pace.over, pace.last = !first, now
		more = more || first
	}
	if more {
		return min(s.interval, sweepPause), nil
	}
	lapse, err := s.untilLapse(ctx)
	return min(s.interval, max(sweepPause, time.Duration(lapse)*time.Millisecond)), err
}

// Sweep looks at the hooks that were reserved since the last time and a minute ago at least, lets go of hooks whose retention
// is over, and removes what the ends of large runs left and nobody is at. It reports whether there is more to do.
func (s *Store) Sweep(ctx context.Context) (more bool, err error) {
	reserved, failed := s.lookAtReserved(ctx)
	left, leftErr := s.sweepCleanups(ctx)
	for range lapsesAtOnce {
		if more, err = s.letLapse(ctx); err != nil || !more {
			break
		}
	}
	return more || reserved || left, errors.Join(failed, leftErr, err)
}

// lookAtReserved looks at hooks in the order in which they were reserved, each once: a call that reserves a hook commits it
// soon, or refuses it, or is broken off. What comes of a hook after that is not its reservation's business: it goes with its
// run, or at its end. So the sweeper only keeps the place up to which it has come. Hooks that other builds reserve stand
// in the same list.
func (s *Store) lookAtReserved(ctx context.Context) (more bool, err error) {
	text, err := s.redis.HGet(ctx, s.keys.sweepState(), fieldHooks).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fail(err)
	}
	until := int64(s.now() - sweepAge)
	entries, err := paging.EntriesBy(ctx, s.redis, redis.ZRangeArgs{Key: s.keys.hooksIndex(), Start: "-inf", Stop: until}, paging.ParsePlace(text), world.Ascending, sweepBatch)
	if err != nil || len(entries) == 0 {
		return false, fail(err)
	}
	hooks := make([]*redis.StringCmd, len(entries))
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, e := range entries {
			runID, hookID, _ := strings.Cut(e.ID, "/")
			hooks[i] = p.HGet(ctx, s.keys.of(runID).hooks(), hookID)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fail(err)
	}
	var retained []redis.Z
	mended := 0
	for i, e := range entries {
		runID, hookID, _ := strings.Cut(e.ID, "/")
		held, ok := record.ParseHook(runID, hookID, hooks[i].Val())
		switch {
		case ok && held.Until != 0: // a build without the list of lapses did not enter it there
			retained = append(retained, redis.Z{Score: float64(held.Until), Member: e.ID})
		case !ok:
			did, err := s.tidy(ctx, runID, hookID)
			if err != nil {
				return false, err
			}
			if did {
				mended++
			}
		}
	}
	s.tellCrash(ctx, mended)
	if len(retained) > 0 {
		if err := s.redis.ZAddNX(ctx, s.keys.hooksLapse(), retained...).Err(); err != nil {
			return false, fail(err)
		}
	}
	last := &entries[len(entries)-1]
	return len(entries) == sweepBatch, fail(s.redis.HSet(ctx, s.keys.sweepState(), fieldHooks, last.Text()).Err())
}

// tidy takes away what is left outside its run's slot of a hook that does not live. It reports whether a crash left it: a
// refused hook leaves its entries on purpose, and nothing else.
func (s *Store) tidy(ctx context.Context, runID, hookID string) (crashed bool, err error) {
	left := record.HeldHook{Claim: record.Claim{RunID: runID, HookID: hookID}}
	value, err := s.redis.Get(ctx, s.keys.hook(hookID)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fail(err)
	}
	unreleased, err := s.redis.HDel(ctx, s.keys.of(runID).leftHooks(), hookID).Result()
	if err != nil {
		return false, fail(err)
	}
	if owner, hash, _ := strings.Cut(value, " "); owner == runID {
		left.TokenHash = hash
		held, err := s.redis.Get(ctx, s.keys.claim(hash)).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, fail(err)
		}
		if holder := record.ParseClaim(held); holder.SameHook(left.Claim) {
			return true, s.discard(ctx, holder, hash)
		}
	}
	if err := s.releaseHooks(ctx, []record.HeldHook{left}); err != nil {
		return false, err
	}
	return unreleased > 0, s.restoreEntry(ctx, runID, hookID)
}

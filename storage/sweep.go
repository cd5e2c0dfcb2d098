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
	// sweepBatch is how many entries of a list the sweeper reads at a time.
	sweepBatch = 200
	// sweepPause is the pause between two batches while there are more.
	sweepPause = 100 * time.Millisecond
	// sweepAge is how old an entry must be before it counts as left behind.
	sweepAge = runindex.Grace
	// lapsesAtOnce is how many batches of lapsed hooks are released before other work gets its turn.
	lapsesAtOnce = 20
)

// Run does the work in the background until ctx ends: it sweeps while this process leads, and wakes the calls that wait for a
// run to end. When it returns, all work that calls left to the background is done.
func (s *Store) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return s.mend(ctx) })
	parts.Go(func() error { return s.waiters.Run(ctx) })
	err := parts.Wait()
	for _, work := range []*cleanups{s.cleanups, s.removing} {
		work.stop()
		work.wait()
	}
	s.index.WaitUnlisted()
	return err
}

// mend sweeps while this process leads. A sweeper that was paused and goes on beside another one does no harm:
//
//   - It removes only what Redis says is over, and removes it by its own value or writes it again if it lives (tidy, restoreEntry,
//     and Drop of runindex); a script checks before it removes a portion.
//   - The places up to which hooks and runs were looked at cover finished work. With an older place some are looked at again.
//   - Entries are only added to lists of hints.
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

// walkPace is what a sweeper knows about the walk.
type walkPace struct {
	over bool         // the first pass is over
	last world.Millis // when it went on last
	next time.Time    // when all lists are looked at again; those of due runs are looked at more often
}

// sweepOnce does what is due and returns how long to wait until the next pass.
func (s *Store) sweepOnce(ctx context.Context, pace *walkPace) (time.Duration, error) {
	if time.Until(pace.next) <= 0 {
		wait, err := s.sweepLists(ctx, pace)
		if err != nil {
			return 0, err
		}
		pace.next = time.Now().Add(wait)
	}
	early, err := s.relieve(ctx)
	if err != nil {
		return 0, err
	}
	if early {
		return sweepPause, nil
	}
	due, err := s.untilDue(ctx)
	if err == nil && due == 0 {
		var more bool
		if more, err = s.removeDue(ctx); !more {
			due = dueEvery
		}
	}
	return max(0, min(time.Until(pace.next), max(sweepPause, due))), err
}

// sweepLists does what is due except the removal of due runs, and returns how long to wait until it is called again.
func (s *Store) sweepLists(ctx context.Context, pace *walkPace) (time.Duration, error) {
	more, err := s.sweep(ctx)
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
	walking, err := s.walkEnded(ctx)
	if err != nil {
		return 0, err
	}
	if more || walking {
		return min(s.interval, sweepPause), nil
	}
	lapse, err := s.untilLapse(ctx)
	return min(s.interval, max(sweepPause, time.Duration(lapse)*time.Millisecond)), err
}

// Sweep checks the hooks that were reserved since the last pass and at least a minute ago, releases hooks whose retention is
// over, clears runs that their process does not clear, completes removals that were interrupted, and removes runs that are due. It
// reports whether there is more to do.
func (s *Store) Sweep(ctx context.Context) (more bool, err error) {
	more, err = s.sweep(ctx)
	due, dueErr := s.removeDue(ctx)
	early, earlyErr := s.relieve(ctx)
	return more || due || early, errors.Join(err, dueErr, earlyErr)
}

// sweep is Sweep without the runs that are due.
func (s *Store) sweep(ctx context.Context) (more bool, err error) {
	reserved, failed := s.lookAtReserved(ctx)
	left, leftErr := s.sweepCleanups(ctx)
	removals, removalErr := s.sweepRemovals(ctx)
	for range lapsesAtOnce {
		if more, err = s.letLapse(ctx); err != nil || !more {
			break
		}
	}
	return more || reserved || left || removals, errors.Join(failed, leftErr, removalErr, err)
}

// lookAtReserved checks hooks in the order in which they were reserved, each once. A call that reserves a hook soon commits or
// refuses it, or is interrupted. What happens to the hook later is not the reservation's concern: it is removed with its run,
// or at its end. So the sweeper only stores the place up to which it has come. Hooks that other builds reserve are in the same
// list.
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
		case ok && held.Until != 0: // an earlier build, without the list of lapses, did not enter it there
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
	s.logCrash(ctx, mended)
	if len(retained) > 0 {
		if err := s.redis.ZAddNX(ctx, s.keys.hooksLapse(), retained...).Err(); err != nil {
			return false, fail(err)
		}
	}
	last := &entries[len(entries)-1]
	return len(entries) == sweepBatch, fail(s.redis.HSet(ctx, s.keys.sweepState(), fieldHooks, last.Text()).Err())
}

// tidy removes what a hook that does not live has left outside its run's slot. It reports whether a crash left it: a refused
// hook leaves its list entries on purpose, and nothing else.
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

package storage

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
)

const (
	// sweepBatch is how many entries of each list one Sweep looks at.
	sweepBatch = 200
	// sweepAge is how old an entry must be before it counts as left behind: a call that wrote
	// it is over by then, one way or the other.
	sweepAge = world.Millis(60_000)
)

// sweepState is where the next Sweep goes on; nil: at the beginning.
type sweepState struct {
	sync.Mutex
	pending, running, paused, hooks *place
	empty                           bool // nothing was in any of the lists
}

// Run does what goes on in the background until ctx ends: it mends, a small batch every
// SweepInterval, or only after sweepAge when there was nothing at all to look at, which several
// replicas may do at once, and listens for the ends of runs that somebody awaits here. What calls have
// left to do behind them is done when it returns.
func (s *Store) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return s.mend(ctx) })
	parts.Go(func() error { return s.endings.bell.Run(ctx) })
	parts.Go(func() error { return s.auditEndings(ctx) })
	err := parts.Wait()
	s.departures.wait()
	return err
}

func (s *Store) mend(ctx context.Context) error {
	timer := time.NewTimer(s.interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		mended, err := s.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.WarnContext(ctx, "the storage sweeper failed; it tries again", slog.Any("error", err))
		case mended > 0:
			s.log.InfoContext(ctx, "the storage sweeper mended what a crash left behind", slog.Int("entries", mended))
		}
		timer.Reset(s.untilSweep())
	}
}

// untilSweep is how long to wait for the next sweep. What comes to a list that was empty counts
// as left behind after sweepAge at the earliest, so an idle service need not look before.
func (s *Store) untilSweep() time.Duration {
	s.sweeps.Lock()
	defer s.sweeps.Unlock()
	if s.sweeps.empty {
		return max(s.interval, time.Duration(sweepAge)*time.Millisecond)
	}
	return s.interval
}

// Sweep looks at the next batch of each list that a crash can leave wrong, and mends what it
// finds. It returns how many entries it mended.
//
// The lists of pending and running runs hold every run whose clean-up is not complete, and
// the list of hooks every hook that may still have something outside its run's slot.
func (s *Store) Sweep(ctx context.Context) (mended int, err error) {
	s.sweeps.Lock()
	defer s.sweeps.Unlock()
	s.sweeps.empty = false
	found := 0
	for _, part := range []struct {
		key  string
		from **place
		mend func(context.Context, place) (bool, error)
	}{
		{s.keys.runsByStatus(world.RunPending), &s.sweeps.pending, s.mender(world.RunPending)},
		{s.keys.runsByStatus(world.RunRunning), &s.sweeps.running, s.mender(world.RunRunning)},
		{s.keys.runsByStatus(world.RunPaused), &s.sweeps.paused, s.mender(world.RunPaused)},
		{s.keys.hooksIndex(), &s.sweeps.hooks, s.mendHook},
	} {
		entries, err := s.entries(ctx, part.key, *part.from, world.Ascending, sweepBatch)
		if err != nil {
			return mended, err
		}
		found += len(entries)
		if *part.from != nil {
			found++ // those before
		}
		*part.from = nil // at the end of a list: from its beginning again
		if len(entries) == sweepBatch {
			*part.from = &entries[len(entries)-1]
		}
		for _, e := range entries {
			if s.now()-e.ms < sweepAge {
				continue
			}
			did, err := part.mend(ctx, e)
			if err != nil {
				return mended, err
			}
			if did {
				mended++
			}
		}
	}
	s.sweeps.empty = found == 0
	return mended, nil
}

// mender mends an entry of the list of one status.
func (s *Store) mender(listed world.RunStatus) func(context.Context, place) (bool, error) {
	return func(ctx context.Context, e place) (bool, error) {
		entry := runEntry{runID: e.id, score: float64(e.ms)}
		run, found, err := s.peekRun(ctx, e.id)
		switch {
		case err != nil:
			return false, err
		case !found:
			// Its place in the list of its workflow goes when somebody reads that list: the name
			// is not known here.
			return true, s.dropRun(ctx, entry)
		case run.Status == listed:
			return false, nil
		case run.Status == world.RunPending:
			// run_started came before the run: the entry is about to be true, and harmless until then.
			return false, nil
		}
		if err := s.settle(ctx, run, entry); err != nil || listed != world.RunPaused {
			return true, err
		}
		return true, fail(s.redis.ZRem(ctx, s.keys.runsByStatus(world.RunPaused), e.id).Err())
	}
}

// mendHook lets go of what is left of a hook that does not live.
func (s *Store) mendHook(ctx context.Context, e place) (bool, error) {
	runID, hookID, _ := strings.Cut(e.id, "/")
	found, err := s.readHooks(ctx, []claim{{runID: runID, hookID: hookID}}, true)
	if err != nil || found[0] != nil {
		return false, err
	}
	over, err := s.redis.HGet(ctx, s.keys.of(runID).hooks(), hookID).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fail(err)
	}
	if held, ok := parseHook(runID, hookID, over); ok { // it outlived its run, and that is over
		return true, s.discard(ctx, held.claim, held.tokenHash)
	}
	left := heldHook{claim: claim{runID: runID, hookID: hookID}}
	value, err := s.redis.Get(ctx, s.keys.hook(hookID)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fail(err)
	}
	if err := s.redis.HDel(ctx, s.keys.of(runID).leftHooks(), hookID).Err(); err != nil {
		return false, fail(err)
	}
	if owner, hash, _ := strings.Cut(value, " "); owner == runID {
		left.tokenHash = hash
		held, err := s.redis.Get(ctx, s.keys.claim(hash)).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, fail(err)
		}
		if holder := parseClaim(held); holder.sameHook(left.claim) {
			return true, s.discard(ctx, holder, hash)
		}
	}
	if err := s.releaseHooks(ctx, []heldHook{left}); err != nil {
		return false, err
	}
	return true, s.restoreEntry(ctx, runID, hookID)
}

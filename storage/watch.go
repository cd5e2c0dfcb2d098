package storage

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// watched is a run of the watch, with the state by which to decide whether its last change is complete.
type watched struct {
	look   world.RunLook
	status world.RunStatus // "": there is no such run
	last   world.Millis    // when it changed last
	left   bool            // it has hooks to release
	lists  [3]bool         // of the living that it is in, in the order of living
}

// DueRuns implements world.IdleStore.
func (s *Store) DueRuns(ctx context.Context, before world.Millis, skip, n int) (world.DueRuns, error) {
	rows, err := s.redis.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: s.index.Keys.Watch(), Start: "-inf", Stop: int64(before), ByScore: true, Offset: int64(skip), Count: int64(n),
	}).Result()
	if err != nil || len(rows) == 0 {
		return world.DueRuns{}, fail(err)
	}
	runs := make([]watched, len(rows))
	for i, row := range rows {
		runs[i].look = world.RunLook{RunID: row.Member.(string), Since: world.Millis(row.Score)}
	}
	if err := s.readWatched(ctx, runs); err != nil {
		return world.DueRuns{}, err
	}
	out := world.DueRuns{More: len(rows) == n}
	var next []world.NextLook
	mended := 0
	var failed error // of one run; the others are still looked at
	for i := range runs {
		did, left, err := s.settleWatched(ctx, &runs[i])
		if did {
			mended++
		}
		w := &runs[i]
		switch {
		case err != nil:
			failed = fmt.Errorf("run %s: %w", w.look.RunID, err)
			out.Left++
		case left:
			out.Left++
		case w.status == world.RunPending || w.status == world.RunRunning:
			out.Live = append(out.Live, w.look)
		default:
			next = append(next, world.NextLook{Look: w.look})
		}
	}
	s.logCrash(ctx, mended)
	if failed != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "what a crash left of a run could not be mended; it is tried again", slog.Any("error", failed))
	}
	return out, s.LookNext(ctx, next)
}

// logCrash logs that entries were found that only a crash leaves, or an outage of Redis.
func (s *Store) logCrash(ctx context.Context, mended int) {
	if mended > 0 {
		s.mended.Add(int64(mended))
		s.log.InfoContext(ctx, "the storage sweeper mended what a crash left behind", slog.Int("entries", mended))
	}
}

// LookNext implements world.IdleStore.
func (s *Store) LookNext(ctx context.Context, next []world.NextLook) error {
	for part := range slices.Chunk(next, sweepBatch) {
		args := append(make([]any, 0, 1+3*len(part)), len(part))
		for _, n := range part {
			since := ""
			if n.Since != 0 {
				since = strconv.FormatInt(int64(n.Since), 10)
			}
			args = append(args, n.Look.RunID, int64(n.Look.Since), since)
		}
		if _, err := s.scripts.watchNext.Run(ctx, s.redis, []string{s.index.Keys.Watch()}, args...); err != nil {
			return fail(err)
		}
	}
	return nil
}

// readWatched reads the state of runs: two small reads each, and one for each list, in one round trip a server.
func (s *Store) readWatched(ctx context.Context, runs []watched) error {
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].look.RunID
	}
	reads := make([]idleReads, len(runs))
	var lists [len(runindex.Living)]*redis.FloatSliceCmd
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range ids {
			reads[i] = s.queueIdle(ctx, p, runID)
		}
		for i, status := range runindex.Living {
			lists[i] = p.ZMScore(ctx, s.index.Keys.ByStatus(status), ids...)
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	for i := range runs {
		w := &runs[i]
		w.look.Idle, w.status, w.left = reads[i].idle(), reads[i].status(), reads[i].left()
		w.last = max(w.look.Idle.LastAt, w.look.Since)
		if w.status != "" {
			w.last = w.look.Idle.LastAt
		}
		for list := range runindex.Living {
			w.lists[list] = lists[list].Val()[i] != 0 // the time in a run's id is never 0
		}
	}
	return nil
}

// settleWatched completes the last change of a run if its call did not. A change counts as left behind only after sweepAge:
// until then its call may be completing it. wait says that the entry has to stay until then.
func (s *Store) settleWatched(ctx context.Context, w *watched) (mended, wait bool, err error) {
	young := s.now()-w.last < sweepAge
	entry := s.index.Entry(w.look.RunID, "", w.look.Since, "")
	switch {
	case w.status == "":
		if young {
			return false, true, nil
		}
		mended, err = s.index.DropUncreated(ctx, entry)
		return mended, false, fail(err)
	case w.complete():
		return false, false, nil
	case young:
		return false, w.status.Terminal() || w.status == world.RunPaused, nil
	}
	run, found, err := s.peekRun(ctx, w.look.RunID)
	if err != nil || !found {
		return false, false, err
	}
	if err := s.settle(ctx, run, entry); err != nil {
		return false, false, err
	}
	if run.Status != world.RunPaused {
		err = s.index.Leave(ctx, run.RunID, world.RunPaused)
	}
	return true, false, fail(err)
}

// complete reports that a run has nothing to release and is in none of the lists that it should have left. A pending run may be
// among the running ones: its start is on the way, or came before it.
func (w *watched) complete() bool {
	for i, status := range runindex.Living {
		if w.lists[i] && w.status != status && (w.status != world.RunPending || status != world.RunRunning) {
			return false
		}
	}
	return !w.left && (w.status != world.RunPaused || w.lists[2])
}

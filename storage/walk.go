package storage

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// The walk goes through the lists of the living and enters runs into the watch that should be there. Its first pass is fast, and
// finds what a build without the watch wrote. Later passes are slow, and find what a replica of such a build still writes. Its
// place is in Redis, so a restart continues there.
const (
	walkSlowly = 60 // runs a minute: a small read each, so one command a second
	// The fields of sweepState.
	fieldWalk    = "walk"
	fieldWalked  = "walked"
	fieldHooks   = "hooks"
	fieldMasters = "masters"
)

// walkState is the place of the walk.
type walkState struct {
	list  int           // of living
	after *paging.Place // nil at its beginning
	done  bool          // the first pass is over
}

func (s *Store) readWalk(ctx context.Context) (walkState, error) {
	fields, err := s.redis.HMGet(ctx, s.keys.sweepState(), fieldWalk, fieldWalked).Result()
	if err != nil {
		return walkState{}, fail(err)
	}
	r := record.Reply(fields)
	w := walkState{done: r.Text(1) != ""}
	list, after, _ := strings.Cut(r.Text(0), " ")
	w.list = min(max(0, record.Int(list)), len(runindex.Living)-1) // -1: nowhere yet
	w.after = paging.ParsePlace(after)
	return w, nil
}

// walk checks the next n runs of the lists, or those up to the end of the last list. first says that the first pass is not
// over.
func (s *Store) walk(ctx context.Context, n int) (first bool, err error) {
	w, err := s.readWalk(ctx)
	if err != nil {
		return false, err
	}
	from, atEnd := w, false
	for n > 0 && !atEnd {
		entries, err := paging.Entries(ctx, s.redis, s.index.Keys.ByStatus(runindex.Living[w.list]), w.after, world.Ascending, n)
		if err != nil {
			return false, fail(err)
		}
		if err := s.enterWatch(ctx, runindex.Living[w.list], entries); err != nil {
			return false, err
		}
		if len(entries) == n {
			w.after = &entries[n-1]
		} else {
			w.list, w.after = w.list+1, nil
			if atEnd = w.list == len(runindex.Living); atEnd {
				w.list, w.done = 0, true
			}
		}
		n -= len(entries)
	}
	if w.list == from.list && w.after.Text() == from.after.Text() && w.done == from.done {
		return !w.done, nil
	}
	fields := []any{fieldWalk, strconv.Itoa(w.list) + " " + w.after.Text()}
	if w.done && !from.done {
		fields = append(fields, fieldWalked, "1")
	}
	return !w.done, fail(s.redis.HSet(ctx, s.keys.sweepState(), fields...).Err())
}

// enterWatch enters those of a list's runs into the watch that somebody has to look at, unless they are there. A run with the
// status of the list that was noted as idle with all events of its log does not need a look.
func (s *Store) enterWatch(ctx context.Context, listed world.RunStatus, entries []paging.Place) error {
	if len(entries) == 0 {
		return nil
	}
	reads := make([]*redis.SliceCmd, len(entries))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, e := range entries {
			reads[i] = p.HMGet(ctx, s.keys.of(e.ID).run(), "rs", "en", "et", "s", "u")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return fail(err)
	}
	var missing []redis.Z
	for i, e := range entries {
		read := idleReads{run: reads[i]}
		idle := read.idleOf(0)
		if read.status() == listed && (idle.MarkedIdle || listed == world.RunPaused) {
			continue
		}
		since := idle.LastAt
		if since == 0 {
			since = min(e.MS, s.now())
		}
		missing = append(missing, redis.Z{Score: float64(since), Member: e.ID})
	}
	if len(missing) == 0 {
		return nil
	}
	return fail(s.redis.ZAddNX(ctx, s.index.Keys.Watch(), missing...).Err())
}

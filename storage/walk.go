package storage

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// The walk goes through the lists of the living and enters into the watch what should be there: at its first pass, in quick
// steps, what a build without the watch wrote; later, in slow ones, what a replica of such a build writes beside this one.
// Where it is stands in Redis, so a restart goes on there.
const (
	walkSlowly = 60 // runs a minute: a small read each, so one command a second
	// The fields of sweepState.
	fieldWalk   = "walk"
	fieldWalked = "walked"
	fieldHooks  = "hooks"
)

// walkState is where the walk goes on.
type walkState struct {
	list  int    // of living
	after *place // nil: at its beginning
	done  bool   // the first pass is over
}

func (s *Store) readWalk(ctx context.Context) (walkState, error) {
	fields, err := s.redis.HMGet(ctx, s.keys.sweepState(), fieldWalk, fieldWalked).Result()
	if err != nil {
		return walkState{}, fail(err)
	}
	r := reply(fields)
	w := walkState{done: r.text(1) != ""}
	list, after, _ := strings.Cut(r.text(0), " ")
	w.list = min(max(0, atoi(list)), len(living)-1) // -1: nowhere yet
	w.after = parsePlace(after)
	return w, nil
}

// parsePlace reads what place.text writes; nil for anything else.
func parsePlace(text string) *place {
	ms, id, ok := strings.Cut(text, " ")
	if !ok {
		return nil
	}
	return &place{ms: world.Millis(atoi(ms)), id: id}
}

func (p *place) text() string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(int64(p.ms), 10) + " " + p.id
}

// walk looks at the next n runs of the lists, or at those up to the end of the last list. first says that the first pass goes on.
func (s *Store) walk(ctx context.Context, n int) (first bool, err error) {
	w, err := s.readWalk(ctx)
	if err != nil {
		return false, err
	}
	from, atEnd := w, false
	for n > 0 && !atEnd {
		entries, err := s.entries(ctx, s.keys.runsByStatus(living[w.list]), w.after, world.Ascending, n)
		if err != nil {
			return false, err
		}
		if err := s.enterWatch(ctx, living[w.list], entries); err != nil {
			return false, err
		}
		if len(entries) == n {
			w.after = &entries[n-1]
		} else {
			w.list, w.after = w.list+1, nil
			if atEnd = w.list == len(living); atEnd {
				w.list, w.done = 0, true
			}
		}
		n -= len(entries)
	}
	if w.list == from.list && w.after.text() == from.after.text() && w.done == from.done {
		return !w.done, nil
	}
	fields := []any{fieldWalk, strconv.Itoa(w.list) + " " + w.after.text()}
	if w.done && !from.done {
		fields = append(fields, fieldWalked, "1")
	}
	return !w.done, fail(s.redis.HSet(ctx, s.keys.sweepState(), fields...).Err())
}

// enterWatch enters those of a list's runs that need to be looked at, unless they are in the watch. A run that has the list's
// status and is noted to be at rest with all that its log has needs no look.
func (s *Store) enterWatch(ctx context.Context, listed world.RunStatus, entries []place) error {
	if len(entries) == 0 {
		return nil
	}
	reads := make([]*redis.SliceCmd, len(entries))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, e := range entries {
			reads[i] = p.HMGet(ctx, s.keys.of(e.id).run(), "rs", "en", "et", "s", "u")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return fail(err)
	}
	var missing []redis.Z
	for i, e := range entries {
		read := restReads{run: reads[i]}
		rest := read.restOf(0)
		if read.status() == listed && (rest.Rested || listed == world.RunPaused) {
			continue
		}
		since := rest.LastAt
		if since == 0 {
			since = min(e.ms, s.now())
		}
		missing = append(missing, redis.Z{Score: float64(since), Member: e.id})
	}
	if len(missing) == 0 {
		return nil
	}
	return fail(s.redis.ZAddNX(ctx, s.keys.runsWatch(), missing...).Err())
}

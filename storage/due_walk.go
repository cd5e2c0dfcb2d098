package storage

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// The walk of the ended goes through the lists of runs that have ended, and enters into the list of due runs those that should be
// there. When the rules have changed, or an earlier build wrote the runs, it is fast, and enters each run with its time by the present
// rules. It is made once more a while later, because replicas with the old rules may have gone on for some time. Then it is slow, and
// finds what no other way finds: what a replica of an earlier build ended, and what Redis lost with its last second.
const (
	// endedSlowly is how many runs the slow walk looks at in a minute: two commands for all that are entered already.
	endedSlowly = 1000
	// endedAgain is when the fast walk is made once more.
	endedAgain = world.Millis(15 * time.Minute / time.Millisecond)
	// The fields of sweepState. fieldEnded is "<rules> <list> <place>", fieldRules the rules of the last fast walk that is over, and
	// fieldAgain when it is made once more.
	fieldEnded = "ended"
	fieldRules = "rules"
	fieldAgain = "rules_again"
)

// endedLists are the lists of the walk.
var endedLists = [...]world.RunStatus{world.RunCompleted, world.RunFailed, world.RunCancelled}

// endedWalk is the place of the walk.
type endedWalk struct {
	list  int
	after *paging.Place // nil at the beginning of the list
	fast  bool
	again world.Millis // 0: the fast walk is not made once more
}

// mark is the same for the same rules.
func (r *keeping) mark() string {
	return rediskey.Hash("1 " + r.rules.String() + " " + r.archiveAfter.String() + " " + strconv.FormatBool(r.archives) + " " + strconv.FormatBool(r.archivesOwn))
}

func (s *Store) readEndedWalk(ctx context.Context) (endedWalk, error) {
	fields, err := s.redis.HMGet(ctx, s.keys.sweepState(), fieldEnded, fieldRules, fieldAgain).Result()
	if err != nil {
		return endedWalk{}, fail(err)
	}
	r := record.Reply(fields)
	w := endedWalk{again: world.Millis(max(0, record.Int(r.Text(2))))}
	w.fast = r.Text(1) != s.dueRuns.mark() || w.again != 0 && w.again <= s.now()
	rules, place, _ := strings.Cut(r.Text(0), " ")
	if rules == s.dueRuns.mark()+speed(w.fast) {
		list, after, _ := strings.Cut(place, " ")
		w.list, w.after = min(max(0, record.Int(list)), len(endedLists)-1), paging.ParsePlace(after)
	}
	return w, nil
}

// speed makes a place of the fast walk differ from one of the slow walk: each begins at the beginning.
func speed(fast bool) string {
	if fast {
		return "+"
	}
	return ""
}

// walkEnded goes on with the walk if it is time, and reports whether the fast walk is not over.
func (s *Store) walkEnded(ctx context.Context) (fast bool, err error) {
	if time.Until(s.dueRuns.walkNext) > 0 {
		return false, nil
	}
	w, err := s.readEndedWalk(ctx)
	if err != nil {
		return false, err
	}
	n := sweepBatch
	if !w.fast {
		n = endedSlowly
		s.dueRuns.walkNext = time.Now().Add(time.Duration(sweepAge) * time.Millisecond)
	}
	atEnd := false
	for n > 0 && !atEnd {
		entries, err := paging.Entries(ctx, s.redis, s.index.Keys.ByStatus(endedLists[w.list]), w.after, world.Ascending, min(n, sweepBatch))
		if err != nil {
			return false, fail(err)
		}
		if err := s.enterEnded(ctx, entries, w.fast); err != nil {
			return false, err
		}
		if len(entries) == min(n, sweepBatch) {
			w.after = &entries[len(entries)-1]
		} else {
			w.list, w.after = w.list+1, nil
			if atEnd = w.list == len(endedLists); atEnd {
				w.list = 0
			}
		}
		n -= len(entries)
	}
	return w.fast && !atEnd, s.noteEndedWalk(ctx, w, atEnd)
}

func (s *Store) noteEndedWalk(ctx context.Context, w endedWalk, atEnd bool) error {
	mark, over := s.dueRuns.mark(), w.fast && atEnd
	fields := []any{fieldEnded, mark + speed(w.fast && !over) + " " + strconv.Itoa(w.list) + " " + w.after.Text()}
	if over {
		again := world.Millis(0)
		if w.again == 0 || w.again > s.now() { // this was the first one
			again = s.now() + endedAgain
		}
		fields = append(fields, fieldRules, mark, fieldAgain, strconv.FormatInt(int64(again), 10))
	}
	return fail(s.redis.HSet(ctx, s.keys.sweepState(), fields...).Err())
}

// enterEnded enters runs of a list with their times. With all it also corrects the times of runs that are entered already.
func (s *Store) enterEnded(ctx context.Context, entries []paging.Place, all bool) error {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	ids, err := s.notEntered(ctx, ids, all)
	if err != nil || len(ids) == 0 {
		return err
	}
	ended, err := s.readEnded(ctx, ids)
	if err != nil {
		return err
	}
	var due []redis.Z
	for i, runID := range ids {
		if at, _ := s.dueRuns.due(ended[i]); at != 0 {
			due = append(due, redis.Z{Score: float64(at), Member: runID})
		}
	}
	if len(due) == 0 {
		return nil
	}
	return fail(s.redis.ZAdd(ctx, s.index.Keys.Due(), due...).Err())
}

// notEntered returns those of the runs that are not in the list of due runs, or all.
func (s *Store) notEntered(ctx context.Context, runIDs []string, all bool) ([]string, error) {
	if all || len(runIDs) == 0 {
		return runIDs, nil
	}
	scores, err := s.redis.ZMScore(ctx, s.index.Keys.Due(), runIDs...).Result()
	if err != nil {
		return nil, fail(err)
	}
	var out []string
	for i, runID := range runIDs {
		if scores[i] == 0 { // no run is due at that time
			out = append(out, runID)
		}
	}
	return out, nil
}

// readEnded reads what decides when runs are due. The name of the workflow takes a script a run, so it is read only if a rule needs it.
func (s *Store) readEnded(ctx context.Context, runIDs []string) ([]endedRun, error) {
	out := make([]endedRun, len(runIDs))
	if s.dueRuns.rules.Names() {
		due := make([]*dueRun, len(runIDs))
		for i, runID := range runIDs {
			due[i] = &dueRun{id: runID}
		}
		if err := s.readDue(ctx, due); err != nil {
			return nil, err
		}
		for i, d := range due {
			if d.run != nil {
				out[i] = endingOf(*d.run)
			}
		}
		return out, nil
	}
	reads := make([]*redis.SliceCmd, len(runIDs))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			reads[i] = p.HMGet(ctx, s.keys.of(runID).run(), "s", "ca", "@"+world.RetentionAttribute)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fail(err)
	}
	for i, read := range reads {
		r := record.Reply(read.Val())
		out[i] = endedRun{status: world.RunStatus(r.Text(0)), at: world.Millis(record.Int(r.Text(1))), own: r.Text(2)}
	}
	return out, nil
}

package streaming

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// ownerOf returns the run that a stream belongs to by its name, or "" if the name has none.
func ownerOf(name string) string { return ids.StreamOwner(name) }

// keptOwner returns the run that is stored with a stream because its name does not contain it.
func keptOwner(name, runID string) string {
	if ownerOf(name) != "" {
		return ""
	}
	return runID
}

// askRuns finds the open streams that are over although nobody closed them, and those whose run does not exist. A
// stream is over when its run has ended, nothing was written for a while since then, and no append is in progress.
// This is not stored: if a chunk arrives later, the stream is open again.
func (s *Service) askRuns(ctx context.Context, open []state) error {
	if s.config.Runs == nil {
		return nil
	}
	var runIDs []string
	known := map[string]bool{}
	for i := range open {
		if run := open[i].run; run != "" && !known[run] {
			known[run] = true
			runIDs = append(runIDs, run)
		}
	}
	if len(runIDs) == 0 {
		return nil
	}
	ends, err := s.runEnds(ctx, runIDs)
	if err != nil {
		return err
	}
	var quiet []*state
	for i := range open {
		st := &open[i]
		end := ends[st.run]
		st.gone = end.Missing && st.run == ownerOf(st.keys.name) && s.isDue(st.run)
		if end.Emptied {
			st.count, st.ends, st.done = 0, "", true
			continue
		}
		if !st.done && end.At != 0 && s.isPast(max(end.At, st.last)) {
			quiet = append(quiet, st)
		}
	}
	return s.lookAgain(ctx, quiet, ends)
}

// lookAgain decides about streams that seem over. It first checks whether an append is in progress and then reads
// their state again, so an append that was stored before the check is in that state.
func (s *Service) lookAgain(ctx context.Context, quiet []*state, ends map[string]world.RunEnd) error {
	quiet = slices.DeleteFunc(quiet, func(st *state) bool { return s.isArriving(st.keys.name) })
	if len(quiet) == 0 {
		return nil
	}
	noted, reads := make([]*redis.StringCmd, len(quiet)), make([]*redis.SliceCmd, len(quiet))
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, st := range quiet {
			noted[i], reads[i] = pipe.Get(ctx, st.keys.arriving), readState(ctx, pipe, st.keys)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return redisError(ctx, err)
	}
	for i, st := range quiet {
		seen, err := noted[i].Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return redisError(ctx, err)
		}
		if *st, err = stateOf(st.keys, reads[i]); err != nil {
			return redisError(ctx, err)
		}
		st.over = !st.done && s.isPast(max(ends[st.run].At, st.last, world.Millis(seen)))
	}
	return nil
}

// settled returns what look returns, except that a stream is over only if a second look finds it over, too. An append
// that another replica began just before the first look is stored or noted by the second. The first look is not
// shared with other callers, because theirs may be older than an append that this caller has to see.
func (s *Service) settled(ctx context.Context, look func(context.Context) (state, error)) (state, error) {
	st, err := look(ctx)
	if err != nil || !st.over {
		return st, err
	}
	if err := s.config.pause(ctx, s.stopped, s.settleTime()); err != nil {
		return state{}, err
	}
	return look(ctx)
}

// pause waits for a duration.
func pause(ctx context.Context, stopped <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-stopped:
		return stopping()
	}
}

// isPast reports whether the quiet time since a timestamp is over.
func (s *Service) isPast(since world.Millis) bool {
	return s.clock.Now().Sub(since.Time()) >= s.config.Quiet
}

// runEnds reads when runs ended, and remembers which of them exist.
func (s *Service) runEnds(ctx context.Context, runIDs []string) (map[string]world.RunEnd, error) {
	dials := s.config.Dials()
	list, err := s.config.Runs.RunEnds(ctx, runIDs)
	if err != nil {
		return nil, err
	}
	ends, now := make(map[string]world.RunEnd, len(list)), s.clock.Now()
	for i, end := range list {
		ends[runIDs[i]] = end
		if !end.Missing {
			s.known.put(runIDs[i], dials, now)
		}
	}
	return ends, nil
}

// checkRun refuses a call for a run that does not exist. A run that this process saw lately is not looked up again.
func (s *Service) checkRun(ctx context.Context, runID string) error {
	if s.config.Runs == nil || !s.isDue(runID) {
		return nil
	}
	if dials, known := s.known.get(runID, s.clock.Now()); known && dials == s.config.Dials() {
		return nil
	}
	ends, err := s.runEnds(ctx, []string{runID})
	if err == nil && ends[runID].Missing {
		return world.RunNotFound(runID)
	}
	return err
}

// isDue reports whether the run with this id must be stored by now if it exists. Until then, its streams may be
// written and read before it is. A text that is not a run id is never refused.
func (s *Service) isDue(runID string) bool {
	due, _ := ids.RunIsDue(runID, s.clock.Now())
	return due
}

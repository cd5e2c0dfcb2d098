package streaming

import (
	"context"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/luascript"
)

// A run may end without closing its streams. Its readers must not wait for ever, but the SDK
// writes what it has buffered late, even after the run's end: so the stream ends when none of
// the run's deliveries goes on and it has been quiet for a moment, or at the latest some
// seconds after the run's end.
const (
	quietBeforeEnd = time.Second
	latestEnd      = 5 * time.Second
)

// ownerOf returns the run that a stream belongs to by its name, strm_<ULID of the run>_user…
// (contract §6.1), or "".
func ownerOf(name string) string {
	rest, ok := strings.CutPrefix(name, "strm_")
	if !ok {
		return ""
	}
	ulid, _, ok := strings.Cut(rest, "_user")
	if runID := "wrun_" + ulid; ok {
		if _, isULID := ids.Time("wrun_", runID); isULID {
			return runID
		}
	}
	return ""
}

// keptOwner is the run that is kept with a stream, because its name does not say it.
func keptOwner(name, runID string) string {
	if ownerOf(name) != "" {
		return ""
	}
	return runID
}

// endOrphans records the end of those of the open streams whose run is over, and sets done.
func (s *Service) endOrphans(ctx context.Context, open []state) error {
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
	ends, err := s.config.Runs.RunEnds(ctx, runIDs)
	if err != nil {
		return err
	}
	ended := map[string]world.RunEnd{}
	for i, end := range ends {
		ended[runIDs[i]] = end
	}
	for i := range open {
		if end, ok := ended[open[i].run]; ok && s.isOver(end, open[i].last) {
			if err := s.endQuietly(ctx, &open[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) isOver(end world.RunEnd, last world.Millis) bool {
	if end.At == 0 || end.Busy {
		return false
	}
	now := s.clock.Now()
	return now.Sub(max(last, end.At).Time()) >= quietBeforeEnd || now.Sub(end.At.Time()) >= latestEnd
}

// endQuietly closes a stream unless it has got a chunk since it was looked at.
func (s *Service) endQuietly(ctx context.Context, st *state) error {
	reply, err := s.scripts.close.Run(ctx, s.client, []string{st.keys.stream, st.keys.meta, st.keys.channel}, st.count)
	if err != nil {
		return redisError(ctx, err)
	}
	numbers, err := integers(reply)
	if err != nil {
		return err
	}
	if len(numbers) != 2 {
		return badReply(luascript.ErrShortReply)
	}
	st.done, st.count = numbers[0] != 2, numbers[1]
	return nil
}

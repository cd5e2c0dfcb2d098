package streaming

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// list adds a stream to its run's list before the stream gets its first record. A crash in between leaves an extra
// name, never a stream that cannot be found. A stream of a purged run is purged before anything can be written to it,
// and a stream of a run that may keep nothing is marked.
func (s *Service) list(ctx context.Context, runID, name string) error {
	if s.isListed(runID, name) {
		return nil
	}
	now, dials := s.clock.Now(), s.config.Dials()
	var added, empties *redis.IntCmd
	var purged *redis.FloatCmd
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		added = pipe.ZAddNX(ctx, s.runKey(runID), redis.Z{Score: float64(now.UnixMilli()), Member: name})
		empties = pipe.Exists(ctx, s.emptiesKey(runID))
		purged = pipe.ZScore(ctx, s.runKey(runID), purgedMark)
		return nil
	})
	if err != nil && (added.Err() != nil || empties.Err() != nil || !errors.Is(purged.Err(), redis.Nil)) {
		return redisError(ctx, err)
	}
	if empties.Val() == 1 {
		if err := s.markEmpties(ctx, runID, name); err != nil {
			return err
		}
	}
	if err == nil {
		if err := s.purgeLate(ctx, runID, name); err != nil {
			return err
		}
	}
	s.listed.put(listedPair(runID, name), dials, now)
	return nil
}

// isListed reports whether the stream need not be added to the run's list: this process added it lately and the same
// Redis still runs, or the stream expires and is in no list, which would keep its name.
func (s *Service) isListed(runID, name string) bool {
	if lifeOf(name) > 0 {
		return true
	}
	dials, listed := s.listed.get(listedPair(runID, name), s.clock.Now())
	return listed && dials == s.config.Dials()
}

func listedPair(runID, name string) string { return runID + "\x00" + name }

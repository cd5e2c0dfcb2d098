package streaming

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

const (
	// purgedMark stands in the list of a run's streams once the run was purged. No stream has
	// this name.
	purgedMark = ""
	// purgePage is how many streams are looked up at a time.
	purgePage = 100
)

// PurgeRun implements [world.StreamStore]. The mark comes first: a stream that is listed before
// it is found below, and one that is listed after it is purged by its own writer, see
// [Service.list]. So nothing slips through, and a call that broke off is made good by the next.
func (s *Service) PurgeRun(ctx context.Context, runID string) error {
	key := s.runKey(runID)
	mark := redis.Z{Score: float64(s.clock.Now().UnixMilli()), Member: purgedMark}
	if err := s.client.ZAddNX(ctx, key, mark).Err(); err != nil {
		return redisError(ctx, err)
	}
	if err := s.eachStream(ctx, runID, func(name string) error { return s.purge(ctx, name) }); err != nil {
		return err
	}
	if err := s.client.Del(ctx, s.emptiesKey(runID)).Err(); err != nil {
		return redisError(ctx, err)
	}
	return nil
}

func (s *Service) purge(ctx context.Context, name string) error {
	keys := s.keys(name)
	if _, err := s.scripts.purge.Run(ctx, s.client, []string{keys.stream, keys.meta, keys.channel}); err != nil {
		return redisError(ctx, err)
	}
	return nil
}

// list puts a stream into its run's list, before it gets its first record: a crash in
// between leaves a name too many, never a stream that nobody finds. A stream of a run that was
// purged is purged before anything can be written to it, and that of one that may keep nothing is marked.
func (s *Service) list(ctx context.Context, runID, name string) error {
	if s.isListed(runID, name) {
		return nil
	}
	now := s.clock.Now()
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
		if err := s.purge(ctx, name); err != nil {
			return err
		}
	}
	s.listed.put(listedPair(runID, name), struct{}{}, now)
	return nil
}

// isListed reports whether this process put the stream into the run's list lately, or need not: streams
// that expire are in no list, which would keep their names.
func (s *Service) isListed(runID, name string) bool {
	if lifeOf(name) > 0 {
		return true
	}
	_, listed := s.listed.get(listedPair(runID, name), s.clock.Now())
	return listed
}

func listedPair(runID, name string) string { return runID + "\x00" + name }

package streaming

import (
	"context"

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

package streaming

import (
	"context"

	"github.com/redis/go-redis/v9"
)

const (
	// purgedMark is in the list of a run's streams once the run was purged. No stream has this name.
	purgedMark = ""
	// purgePage is how many streams are looked up at a time.
	purgePage = 100
)

// PurgeRun implements [world.StreamStore]. It sets the mark first: streams listed before that are found below, and a
// stream listed after it is purged by its own writer, see [Service.list]. So no stream is missed, and the next call
// completes one that was interrupted.
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

package streaming

import (
	"context"
	"time"

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

// removedFor is how long what refuses late writers of a removed run's streams is kept.
const removedFor = time.Hour

// RemoveRun implements [world.StreamStore]. It purges the streams, so that they accept no more, and lets what is left of them
// expire.
func (s *Service) RemoveRun(ctx context.Context, runID string) error {
	if err := s.PurgeRun(ctx, runID); err != nil {
		return err
	}
	err := s.eachStream(ctx, runID, func(name string) error { return s.letExpire(ctx, s.keys(name)) })
	if err != nil {
		return err
	}
	if err := s.client.Expire(ctx, s.runKey(runID), removedFor).Err(); err != nil {
		return redisError(ctx, err)
	}
	return nil
}

// purgeLate purges a stream that was listed after its run was purged. If the run was removed, what is left of the stream expires.
func (s *Service) purgeLate(ctx context.Context, runID, name string) error {
	if err := s.purge(ctx, name); err != nil {
		return err
	}
	left, err := s.client.TTL(ctx, s.runKey(runID)).Result()
	if err != nil {
		return redisError(ctx, err)
	}
	if left <= 0 {
		return nil
	}
	return s.letExpire(ctx, s.keys(name))
}

func (s *Service) letExpire(ctx context.Context, keys streamKeys) error {
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Expire(ctx, keys.meta, removedFor)
		p.Unlink(ctx, keys.second, keys.arriving)
		return nil
	})
	if err != nil {
		return redisError(ctx, err)
	}
	return nil
}

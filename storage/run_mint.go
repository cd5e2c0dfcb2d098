package storage

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/rediskey"
)

// namedRunTTL is how long a run id is remembered that was minted for a request id.
const namedRunTTL = 20 * time.Minute

// mintRun returns a new run id, and the same one again for the same request.
func (s *Store) mintRun(ctx context.Context, requestID string) (string, error) {
	fresh := s.ids.Prefixed("wrun_")
	if requestID == "" {
		return fresh, nil
	}
	key := s.keys.namedRun(rediskey.Hash(requestID))
	var holder *redis.StringCmd
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.SetNX(ctx, key, fresh, namedRunTTL) //nolint:staticcheck // SET NX GET needs Redis 7
		holder = p.Get(ctx, key)
		return nil
	})
	if err != nil {
		return "", fail(err)
	}
	return holder.Val(), nil
}

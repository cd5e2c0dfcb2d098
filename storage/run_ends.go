package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

var _ world.RunEnds = (*Store)(nil)

// RunEnds implements world.RunEnds, in one round trip a server. It knows nothing of deliveries.
func (s *Store) RunEnds(ctx context.Context, runIDs []string) ([]world.RunEnd, error) {
	out := make([]world.RunEnd, len(runIDs))
	reads := make([]*redis.SliceCmd, len(runIDs))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			if ids.Valid(runID) {
				reads[i] = p.HMGet(ctx, s.keys.of(runID).run(), "s", "ca")
			}
		}
		return nil
	})
	if err != nil {
		return nil, fail(err)
	}
	for i, read := range reads {
		if read == nil {
			continue
		}
		fields := read.Val()
		status, _ := fields[0].(string)
		ended, _ := fields[1].(string)
		if world.RunStatus(status).Terminal() {
			out[i].At = world.Millis(atoi(ended))
		}
	}
	return out, nil
}

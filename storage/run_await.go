package storage

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// AwaitRun implements world.RunStore. It is prompt while [Store.Run] runs; without that, it
// answers when the wait is over.
func (s *Store) AwaitRun(ctx context.Context, runID string, wait time.Duration, resolveNone bool) (world.Run, error) {
	run, err := s.GetRun(ctx, runID, resolveNone)
	if err != nil || wait <= 0 || run.Status.Terminal() {
		return run, err
	}
	timer := time.NewTimer(min(wait, world.MaxAwaitRun))
	defer timer.Stop()
	w := s.endings.join(runID)
	defer s.endings.leave(w)
	// Only a look that comes after the subscription can be trusted: an end before it is seen, one
	// after it rings.
	select {
	case <-w.run.ready:
	case <-w.ring: // it has ended, and the subscription is late
	case <-timer.C:
		return s.GetRun(ctx, runID, resolveNone)
	case <-ctx.Done():
		return world.Run{}, ctx.Err()
	}
	for {
		status, err := s.redis.HGet(ctx, s.keys.of(runID).run(), "s").Result()
		switch {
		case errors.Is(err, redis.Nil):
			return world.Run{}, world.RunNotFound(runID)
		case err != nil:
			return world.Run{}, fail(err)
		case world.RunStatus(status).Terminal():
			return s.GetRun(ctx, runID, resolveNone)
		}
		select {
		case <-w.ring:
		case <-timer.C:
			return s.GetRun(ctx, runID, resolveNone)
		case <-ctx.Done():
			return world.Run{}, ctx.Err()
		}
	}
}

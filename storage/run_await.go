package storage

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// AwaitRun implements world.RunStore. It answers at once while [Store.Run] runs; without that, when the wait is over.
func (s *Store) AwaitRun(ctx context.Context, runID string, wait time.Duration, resolveNone bool) (world.Run, error) {
	run, err := s.GetRun(ctx, runID, resolveNone)
	if err != nil || wait <= 0 || run.Status.Terminal() {
		return run, err
	}
	timer := time.NewTimer(min(wait, world.MaxAwaitRun))
	defer timer.Stop()
	w := s.waiters.Join(runID)
	defer w.Leave()
	// The run is read after the subscription is confirmed: an end before that is read, one after it wakes this call.
	select {
	case <-w.Subscribed():
	case <-w.Woken(): // it has ended before the subscription was confirmed
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
		case <-w.Woken():
		case <-timer.C:
			return s.GetRun(ctx, runID, resolveNone)
		case <-ctx.Done():
			return world.Run{}, ctx.Err()
		}
	}
}

// runsEnded returns for each run whether it has ended or is gone; false also where Redis does not say.
func (s *Store) runsEnded(ctx context.Context, runIDs []string) []bool {
	// An error is one of the commands', and they are looked at one by one.
	cmds, _ := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, runID := range runIDs {
			p.HGet(ctx, s.keys.of(runID).run(), "s")
		}
		return nil
	})
	ended := make([]bool, len(runIDs))
	for i := range runIDs {
		status, err := cmds[i].(*redis.StringCmd).Result()
		ended[i] = errors.Is(err, redis.Nil) || world.RunStatus(status).Terminal()
	}
	return ended
}

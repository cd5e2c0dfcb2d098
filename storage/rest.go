package storage

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

var _ world.RestStore = (*Store)(nil)

// RunsRest implements world.RestStore: two small reads a run, in one round trip a server.
func (s *Store) RunsRest(ctx context.Context, runIDs []string) ([]world.RunRest, error) {
	type reads struct {
		run   *redis.SliceCmd
		hooks *redis.IntCmd
	}
	all := make([]reads, len(runIDs))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			k := s.keys.of(runID)
			all[i] = reads{run: p.HMGet(ctx, k.run(), "rs", "en", "et"), hooks: p.Exists(ctx, k.hooksOrder())}
		}
		return nil
	})
	if err != nil {
		return nil, fail(err)
	}
	out := make([]world.RunRest, len(runIDs))
	for i, r := range all {
		run := reply(r.run.Val())
		out[i] = world.RunRest{Events: int64(run.number(1)), LastAt: world.Millis(run.number(2)), Hooks: r.hooks.Val() == 1}
		out[i].Rested = run.text(0) == strconv.FormatInt(out[i].Events, 10)
	}
	return out, nil
}

// MarkRested implements world.RestStore.
func (s *Store) MarkRested(ctx context.Context, runID string, events int64) error {
	if !ids.Valid(runID) {
		return badID("runId", runID)
	}
	k := s.keys.of(runID)
	_, err := s.scripts.runRest.Run(ctx, s.redis, []string{k.run()}, events)
	return fail(err)
}

// Lead implements world.RestStore. That two processes lead for a moment, as after a pause of
// one, is possible and must do no harm.
func (s *Store) Lead(ctx context.Context, work, holder string, lease time.Duration) (bool, error) {
	key := s.keys.lead(work)
	took, err := s.redis.SetNX(ctx, key, holder, lease).Result()
	if err != nil || took {
		return took, fail(err)
	}
	held, err := s.redis.Get(ctx, key).Result()
	switch {
	case errors.Is(err, redis.Nil): // it lapsed just now; next time
		return false, nil
	case err != nil:
		return false, fail(err)
	case held != holder:
		return false, nil
	}
	return true, fail(s.redis.PExpire(ctx, key, lease).Err())
}

package storage

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

var _ world.StepFinder = (*Store)(nil)

// FindSteps implements world.StepFinder: three small reads a step, in one round trip a server. A step
// whose hash is gone exists as long as its events do: the next event of it mends it.
func (s *Store) FindSteps(ctx context.Context, refs []world.StepRef) ([]world.StepPresence, error) {
	type reads struct {
		status *redis.StringCmd
		step   *redis.IntCmd
		events *redis.StringSliceCmd
	}
	all := make([]reads, len(refs))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, ref := range refs {
			if !ids.Valid(ref.RunID) || !ids.Valid(ref.StepID) {
				continue
			}
			k := s.keys.of(ref.RunID)
			// '0' follows '/', which stands between the id and the position.
			byID := &redis.ZRangeBy{Min: "[" + ref.StepID + "/", Max: "(" + ref.StepID + "0", Count: 1}
			all[i] = reads{
				status: p.HGet(ctx, k.run(), "s"), step: p.Exists(ctx, k.step(ref.StepID)), events: p.ZRangeByLex(ctx, k.related(), byID),
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // nil: there is no such run
		return nil, fail(err)
	}
	out := make([]world.StepPresence, len(refs))
	for i, r := range all {
		if r.status == nil {
			continue // no run and no step has such an id
		}
		out[i] = world.StepPresence{Run: world.RunStatus(r.status.Val()), Step: r.step.Val() == 1 || len(r.events.Val()) > 0}
	}
	return out, nil
}

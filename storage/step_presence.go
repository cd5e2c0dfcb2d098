package storage

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

var _ world.StepFinder = (*Store)(nil)

// FindSteps implements world.StepFinder: three small reads a step, in one round trip a server. A step whose hash is gone exists
// as long as its events do; its next event rebuilds it. A reference without a run costs one more round trip.
func (s *Store) FindSteps(ctx context.Context, refs []world.StepRef) ([]world.StepPresence, error) {
	refs, err := s.locateSteps(ctx, refs)
	if err != nil {
		return nil, err
	}
	type reads struct {
		status *redis.StringCmd
		step   *redis.IntCmd
		events *redis.StringSliceCmd
	}
	all := make([]reads, len(refs))
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, ref := range refs {
			if !world.ValidID(ref.RunID) || !world.ValidID(ref.StepID) {
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

// locateSteps returns the references, and adds the run where none is given and it is known.
func (s *Store) locateSteps(ctx context.Context, refs []world.StepRef) ([]world.StepRef, error) {
	if !slices.ContainsFunc(refs, func(ref world.StepRef) bool { return ref.RunID == "" }) {
		return refs, nil
	}
	runs := make([]*redis.StringCmd, len(refs))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, ref := range refs {
			if ref.RunID == "" {
				runs[i] = p.HGet(ctx, s.keys.locator(ref.StepID), ref.StepID)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // nil: nothing is known of a step
		return nil, fail(err)
	}
	located := slices.Clone(refs)
	for i, run := range runs {
		if run != nil {
			located[i].RunID = run.Val()
		}
	}
	return located, nil
}

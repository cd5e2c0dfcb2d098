package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// endRun applies the three terminal events. The hooks of the run are free for others when
// this returns.
func (s *Store) endRun(ctx context.Context, c *call, status world.RunStatus, reference string) (world.EventResult, error) {
	o, err := s.apply(ctx, c, s.scripts.runEnd, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended()},
		string(status), reference)
	if err != nil {
		return world.EventResult{}, err
	}
	return s.endResult(ctx, c, o, status)
}

// endResult frees the tokens of the run's hooks, moves it in the lists, and builds the answer.
func (s *Store) endResult(ctx context.Context, c *call, o outcome, status world.RunStatus) (world.EventResult, error) {
	// What is committed is finished even if the caller has gone.
	ctx = context.WithoutCancel(ctx)
	if err := s.releaseLeft(ctx, c.req.RunID, o.rest.list(1)); err != nil {
		return world.EventResult{}, err
	}
	if err := s.moveRun(ctx, s.entryOf(c.req.RunID, "", c.now, status)); err != nil {
		return world.EventResult{}, err
	}
	return s.runResult(ctx, c, o)
}

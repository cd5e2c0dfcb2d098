package storage

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// createStep applies step_created.
func (s *Store) createStep(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.applyLocated(ctx, c, s.scripts.stepCreate, []string{c.keys.step(c.req.CorrelationID), c.keys.steps()})
	if err != nil {
		return world.EventResult{}, err
	}
	return s.stepResult(c, o)
}

// changeStep applies the events of a step that exists.
func (s *Store) changeStep(ctx context.Context, c *call, script script, args ...any) (world.EventResult, error) {
	o, err := s.apply(ctx, c, script, []string{c.keys.step(c.req.CorrelationID)}, args...)
	if err != nil {
		return world.EventResult{}, err
	}
	return s.stepResult(c, o)
}

// retryStep applies step_retrying.
func (s *Store) retryStep(ctx context.Context, c *call) (world.EventResult, error) {
	retryAfter := ""
	if ms, ok := millisField(c.req.Data, "retryAfter"); ok {
		retryAfter = strconv.FormatInt(int64(ms), 10)
	}
	return s.changeStep(ctx, c, s.scripts.stepRetry, retryAfter)
}

func (s *Store) stepResult(c *call, o outcome) (world.EventResult, error) {
	e, err := decodeEntity(c.req.RunID, o.rest.list(0), o.own())
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	step := e.stepAsOf(c.req.CorrelationID, o.stored, c.req.ResolveNone)
	return world.EventResult{Event: c.answer(o.stored.event), Step: &step}, nil
}

// applyLocated is apply for an event that creates an entity; it also notes which run the
// entity belongs to, for reads that name no run.
func (s *Store) applyLocated(ctx context.Context, c *call, script script, keys []string, args ...any) (outcome, error) {
	locator, id := s.keys.locator(c.req.CorrelationID), c.req.CorrelationID
	o, err := s.applyWith(ctx, c, false, func(p redis.Pipeliner) { p.HSet(ctx, locator, id, c.req.RunID) }, script, keys, args...)
	if world.ErrorCode(err) == world.CodeRunNotFound {
		_ = s.redis.HDel(ctx, locator, id).Err() // without a run there is nothing to locate; a leftover does no harm
	}
	return o, err
}

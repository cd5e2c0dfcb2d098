package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

// plan is how an event that takes one script is applied: what to send, and how to build the answer.
type plan struct {
	script script
	keys   []string
	args   []any
	// makes says that the event creates an entity. The run that it belongs to is stored in the same round trip, for reads that
	// name no run.
	makes bool
	// ofStep says that if the state of the step causes a refusal, the step is compared with its events.
	ofStep bool
	result func(ctx context.Context, c *call, o scriptOutcome) (world.EventResult, error)
}

// planOf returns the plan of an event of a step or a wait, and nil for other events.
func (s *Store) planOf(c *call) (*plan, error) {
	switch c.req.Type {
	case world.EventStepCreated, world.EventStepStarted, world.EventStepCompleted, world.EventStepFailed, world.EventStepRetrying:
		return s.planStepEvent(c)
	case world.EventWaitCreated, world.EventWaitCompleted:
		return s.planWaitEvent(c), nil
	default:
		return nil, nil
	}
}

// batchOf returns what a plan sends.
func (s *Store) batchOf(ctx context.Context, c *call, p *plan) (luascript.Batch, error) {
	keys, args, err := c.input(p.keys, p.args)
	if err != nil {
		return luascript.Batch{}, fail(err)
	}
	return luascript.Batch{Front: s.frontOf(ctx, c, p), Calls: []luascript.Call{{Script: p.script, Keys: keys, Args: args}}}, nil
}

// frontOf returns what a plan sends before its script.
func (s *Store) frontOf(ctx context.Context, c *call, p *plan) func(redis.Pipeliner) {
	if !p.makes {
		return nil
	}
	locator, id := s.keys.locator(c.req.CorrelationID), c.req.CorrelationID
	return func(pipe redis.Pipeliner) { pipe.HSet(ctx, locator, id, c.req.RunID) }
}

// carryOut sends what a plan says, and returns the outcome or the refusal.
func (s *Store) carryOut(ctx context.Context, c *call, p *plan) (scriptOutcome, error) {
	return s.applyAfter(ctx, c, s.frontOf(ctx, c, p), p.script, p.keys, p.args...)
}

// finish builds the answer from the outcome of the script. If the state of the step caused a refusal, and that state differed
// from the step's events, the event is sent once more.
func (s *Store) finish(ctx context.Context, c *call, p *plan, o scriptOutcome, err error) (world.EventResult, error) {
	if p.ofStep {
		var again bool
		if again, err = s.mendRefused(ctx, c, o, err); again {
			o, err = s.carryOut(ctx, c, p)
		}
	}
	if p.makes && world.ErrorCode(err) == world.CodeRunNotFound {
		// Without a run there is nothing to locate; a leftover does no harm.
		_ = s.redis.HDel(ctx, s.keys.locator(c.req.CorrelationID), c.req.CorrelationID).Err()
	}
	if err != nil {
		return world.EventResult{}, err
	}
	return p.result(ctx, c, o)
}

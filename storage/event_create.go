package storage

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// CreateEvent implements world.EventStore.
func (s *Store) CreateEvent(ctx context.Context, req world.CreateEvent) (world.EventResult, error) {
	if req.RunID == "" && req.Type == world.EventRunCreated && req.RequestID != "" {
		runID, err := s.mintRun(ctx, "run_created "+req.RequestID)
		if err != nil {
			return world.EventResult{}, err
		}
		req.RunID = runID
	}
	if err := s.checkEvent(&req); err != nil {
		return world.EventResult{}, err
	}
	c := s.newCall(req)
	result, err := s.create(ctx, c)
	return s.answerOf(ctx, c, result, err)
}

// create applies an event: one that has a plan is carried out and finished, and the others by the functions of their family.
func (s *Store) create(ctx context.Context, c *call) (world.EventResult, error) {
	switch p, err := s.planOf(c); {
	case err != nil:
		return world.EventResult{}, err
	case p != nil:
		o, err := s.carryOut(ctx, c, p)
		return s.finish(ctx, c, p, o, err)
	}
	switch c.req.Type {
	case world.EventRunCreated:
		return s.createRun(ctx, c)
	case world.EventRunStarted:
		return s.startRun(ctx, c)
	case world.EventRunCompleted:
		return s.endRun(ctx, c, world.RunCompleted, outputField)
	case world.EventRunFailed:
		return s.endRun(ctx, c, world.RunFailed, errorField)
	case world.EventRunCancelled:
		return s.endRun(ctx, c, world.RunCancelled, "")
	case world.EventAttrSet:
		return s.setAttributes(ctx, c)
	case world.EventHookCreated:
		return s.createHook(ctx, c)
	case world.EventHookReceived:
		return s.receiveHook(ctx, c)
	case world.EventHookDisposed:
		return s.disposeHook(ctx, c)
	default:
		return world.EventResult{}, unsupported(c.req.Type)
	}
}

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

// answerOf returns the answer of CreateEvent. Runs from before event sourcing have rules of their own.
func (s *Store) answerOf(ctx context.Context, c *call, result world.EventResult, err error) (world.EventResult, error) {
	if errors.Is(err, errLegacyRun) {
		result, err = s.createLegacy(ctx, c, err)
	}
	if err != nil {
		return world.EventResult{}, err
	}
	c.delta.addTo(&result)
	return result, nil
}

// frontOf returns what a plan sends before its script.
func (s *Store) frontOf(ctx context.Context, c *call, p *plan) func(redis.Pipeliner) {
	if !p.makes {
		return nil
	}
	locator, id := s.keys.locator(c.req.CorrelationID), c.req.CorrelationID
	return func(pipe redis.Pipeliner) { pipe.HSet(ctx, locator, id, c.req.RunID) }
}

package storage

import (
	"context"
	"errors"

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
	if err := s.prepare(&req); err != nil {
		return world.EventResult{}, err
	}
	c := s.newCall(req)
	result, err := s.create(ctx, c)
	if errors.Is(err, errLegacyRun) {
		result, err = s.createLegacy(ctx, c, err)
	}
	if err != nil {
		return world.EventResult{}, err
	}
	c.news.attach(&result)
	return result, nil
}

func (s *Store) create(ctx context.Context, c *call) (world.EventResult, error) {
	switch c.req.Type {
	case world.EventRunCreated:
		return s.createRun(ctx, c)
	case world.EventRunStarted:
		return s.startRun(ctx, c)
	case world.EventRunCompleted:
		return s.endRun(ctx, c, world.RunCompleted, "oe")
	case world.EventRunFailed:
		return s.endRun(ctx, c, world.RunFailed, "ee")
	case world.EventRunCancelled:
		return s.endRun(ctx, c, world.RunCancelled, "")
	case world.EventStepCreated:
		return s.createStep(ctx, c)
	case world.EventStepStarted:
		if startsNewStep(c.req) {
			return s.beginStep(ctx, c)
		}
		return s.changeStep(ctx, c, s.scripts.stepStart)
	case world.EventStepCompleted:
		return s.changeStep(ctx, c, s.scripts.stepEnd, string(world.StepCompleted), "oe", "0")
	case world.EventStepFailed:
		return s.changeStep(ctx, c, s.scripts.stepEnd, string(world.StepFailed), "ee", "1")
	case world.EventStepRetrying:
		return s.retryStep(ctx, c)
	case world.EventAttrSet:
		return s.setAttributes(ctx, c)
	case world.EventHookCreated:
		return s.createHook(ctx, c)
	case world.EventHookReceived:
		return s.receiveHook(ctx, c)
	case world.EventHookDisposed:
		return s.disposeHook(ctx, c)
	case world.EventWaitCreated:
		return s.createWait(ctx, c)
	case world.EventWaitCompleted:
		return s.completeWait(ctx, c)
	default:
		return world.EventResult{}, world.Errorf(world.CodeInvalid, "Event type %q is not supported", c.req.Type)
	}
}

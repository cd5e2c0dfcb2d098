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
	if err := s.checkEvent(&req); err != nil {
		return world.EventResult{}, err
	}
	c := s.newCall(req)
	result, err := s.create(ctx, c)
	return s.answerOf(ctx, c, result, err)
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
		return s.endRun(ctx, c, world.RunCompleted, "oe")
	case world.EventRunFailed:
		return s.endRun(ctx, c, world.RunFailed, "ee")
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

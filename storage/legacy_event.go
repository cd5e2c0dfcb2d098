package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// legacyEvents are the types of the legacy calls, and whether each announces work that a run
// which has ended will not do.
var legacyEvents = map[world.EventType]bool{
	world.LegacyWorkflowStarted: false, world.LegacyWorkflowCompleted: false, world.LegacyWorkflowFailed: false,
	world.EventStepStarted: true, world.EventStepRetrying: true, world.EventStepCompleted: false, world.EventStepFailed: false,
	world.EventHookCreated: true, world.EventHookReceived: true, world.EventHookDisposed: false,
	world.EventWaitCreated: true, world.EventWaitCompleted: false,
}

// CreateLegacyEvent implements world.LegacyStore.
func (s *Store) CreateLegacyEvent(ctx context.Context, req world.CreateLegacyEvent) (world.Event, error) {
	if err := checkLegacyIDs("runId", req.RunID); err != nil {
		return world.Event{}, err
	}
	announces, known := legacyEvents[req.Type]
	if !known {
		return world.Event{}, world.Errorf(world.CodeInvalid, "Event type %q is not one of the legacy calls", req.Type)
	}
	if req.CorrelationID != "" {
		if err := world.CheckID("correlationId", req.CorrelationID); err != nil {
			return world.Event{}, err
		}
	}
	c := s.newCall(world.CreateEvent{
		RunID: req.RunID, Type: req.Type, CorrelationID: req.CorrelationID, Data: req.Data,
		RequestID: req.RequestID, ResolveNone: req.ResolveNone,
	})
	if req.CorrelationID != "" {
		// Reads that name no run find the run here. Without an event the entry does no harm.
		if err := s.redis.HSet(ctx, s.keys.locator(req.CorrelationID), req.CorrelationID, req.RunID).Err(); err != nil {
			return world.Event{}, fail(err)
		}
	}
	o, err := s.apply(ctx, c, s.scripts.legacyAppend, nil, flag(announces))
	if err != nil {
		return world.Event{}, err
	}
	return *c.answer(o.stored.Event), nil
}

package archived

import (
	"context"
	"errors"
	"math"

	"github.com/world-redis/world-redis"
)

// CreateEvent implements world.EventStore.
func (s *Store) CreateEvent(ctx context.Context, req world.CreateEvent) (world.EventResult, error) {
	result, err := s.Store.CreateEvent(ctx, req)
	return s.Answer(ctx, req, result, err)
}

// Answer returns what Redis answered to an event, or the refusal of an ended run if Redis no longer has the run and the archive
// has it. Nothing is written.
func (s *Store) Answer(ctx context.Context, req world.CreateEvent, result world.EventResult, err error) (world.EventResult, error) {
	if !mayBeArchived(req.Type, err) {
		return result, err
	}
	run, failed := s.left(ctx, req.RunID)
	switch {
	case failed != nil:
		return world.EventResult{}, failed
	case run == nil:
		return result, err
	case req.Type == world.EventRunCancelled && run.Status == world.RunCancelled:
		return s.cancelledAgain(ctx, req)
	default:
		return world.EventResult{}, s.refusal(ctx, run, req, err)
	}
}

// mayBeArchived reports whether Redis may have refused an event because its run is no longer there.
func mayBeArchived(kind world.EventType, err error) bool {
	switch world.ErrorCode(err) {
	case world.CodeRunNotFound, world.CodeStepNotFound, world.CodeWaitNotFound:
		return true
	case world.CodeConflict:
		return kind == world.EventRunCreated // of a run that was removed
	default:
		return false
	}
}

// cancelledAgain answers a run_cancelled for a run that is cancelled: the event that did it stands for another one.
func (s *Store) cancelledAgain(ctx context.Context, req world.CreateEvent) (world.EventResult, error) {
	run, err := s.find(ctx, req.RunID, req.ResolveNone)
	if err != nil || run == nil {
		return world.EventResult{}, err
	}
	for part, err := range s.Archive.Parts(ctx, req.RunID, world.ArchivedParts{Kind: world.PartEvents, From: math.MaxInt64, Backwards: true, ResolveNone: req.ResolveNone}) {
		if err != nil {
			return world.EventResult{}, unavailable(ctx, err)
		}
		if part.Event.Type == world.EventRunCancelled {
			return world.EventResult{Event: part.Event, Run: run, MaxEvents: s.MaxEvents}, nil
		}
	}
	return world.EventResult{Run: run, MaxEvents: s.MaxEvents}, nil
}

// refusal is what an ended run answers to an event (contract §3.2 to §3.6). A step that was running when the run ended may end after
// it while it is in Redis; in the archive nothing changes any more, and the step is told that its run is over.
func (s *Store) refusal(ctx context.Context, run *world.Run, req world.CreateEvent, missing error) error {
	if legacy := run.SpecVersion <= 1; legacy && req.Type != world.EventRunCreated && req.Type != world.EventRunCancelled {
		return refuseLegacy(run, req)
	}
	switch req.Type {
	case world.EventRunCreated:
		return world.Errorf(world.CodeConflict, "Workflow run %q already exists", run.RunID)
	case world.EventRunStarted:
		return expired(run)
	case world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled:
		return world.Errorf(world.CodeConflict, "Cannot transition run from terminal state %q", run.Status)
	case world.EventAttrSet:
		return world.Errorf(world.CodeConflict, "Cannot set attributes on run in terminal state %q", run.Status)
	case world.EventStepCreated, world.EventWaitCreated, world.EventHookCreated:
		return world.Errorf(world.CodeConflict, "Cannot create new entities on run in terminal state %q", run.Status)
	case world.EventStepStarted, world.EventStepCompleted, world.EventStepFailed, world.EventStepRetrying:
		return s.refuseStep(ctx, run, req, missing)
	case world.EventWaitCompleted:
		return s.refuseWait(ctx, run, req, missing)
	default:
		return missing
	}
}

// refuseLegacy is the answer of a run from before event sourcing, which knows two of these events.
func refuseLegacy(run *world.Run, req world.CreateEvent) error {
	if req.Type == world.EventWaitCompleted || req.Type == world.EventHookReceived {
		return expired(run)
	}
	return world.Errorf(world.CodeInvalid, "Event type '%s' not supported for legacy runs (specVersion: %d)", req.Type, run.SpecVersion)
}

func expired(run *world.Run) error {
	e := world.Errorf(world.CodeRunExpired, "Workflow run %q is already in terminal state %q", run.RunID, run.Status)
	e.RunID = run.RunID
	return e
}

func (s *Store) refuseStep(ctx context.Context, run *world.Run, req world.CreateEvent, missing error) error {
	if req.Type == world.EventStepStarted && req.Data.Has("input") { // it would create the step
		return world.Errorf(world.CodeConflict, "Cannot create new entities on run in terminal state %q", run.Status)
	}
	step, err := s.findStep(ctx, run.RunID, req.CorrelationID, true)
	switch {
	case err != nil:
		return err
	case step != nil && step.Status.Terminal():
		return world.Errorf(world.CodeConflict, "Cannot modify step in terminal state %q", step.Status)
	case step == nil && (req.Type == world.EventStepCompleted || req.Type == world.EventStepRetrying):
		return missing
	default:
		return expired(run)
	}
}

func (s *Store) refuseWait(ctx context.Context, run *world.Run, req world.CreateEvent, missing error) error {
	for part, err := range s.Archive.Parts(ctx, run.RunID, world.ArchivedParts{Kind: world.PartEvents, ResolveNone: true}) {
		if err != nil {
			return unavailable(ctx, err)
		}
		if part.Event.Type == world.EventWaitCompleted && part.Event.CorrelationID == req.CorrelationID {
			return world.Errorf(world.CodeConflict, "Wait %q already completed", req.CorrelationID)
		}
	}
	return missing
}

// CreateBatch implements world.EventStore.
func (s *Store) CreateBatch(ctx context.Context, req world.CreateBatch) ([]world.BatchItem, error) {
	items, err := s.Store.CreateBatch(ctx, req)
	if err != nil {
		return items, err
	}
	for i := range items {
		item := &items[i]
		if item.Err == nil {
			continue
		}
		event := req.Events[i]
		event.RunID = req.RunID
		_, answer := s.Answer(ctx, event, world.EventResult{}, item.Err)
		var refused *world.Error
		if !errors.As(answer, &refused) {
			return nil, answer
		}
		if refused.Code == world.CodeUnavailable {
			return nil, refused
		}
		item.Err = refused
	}
	return items, nil
}

package archived

import (
	"context"

	"github.com/world-redis/world-redis"
)

// UpdateLegacyRun implements world.LegacyStore. The state that a run has may be set again.
func (s *Store) UpdateLegacyRun(ctx context.Context, req world.UpdateLegacyRun) (world.Run, error) {
	run, err := s.Store.UpdateLegacyRun(ctx, req)
	if world.ErrorCode(err) != world.CodeRunNotFound {
		return run, err
	}
	found, failed := s.find(ctx, req.RunID, req.ResolveNone)
	switch {
	case failed != nil:
		return run, failed
	case found == nil:
		return run, err
	case found.SpecVersion > 1:
		return run, world.Errorf(world.CodeConflict, "Workflow run %q has spec version %d: it is changed by events, not by legacy calls", req.RunID, found.SpecVersion)
	case req.Status == found.Status:
		return *found, nil
	default:
		return run, world.Errorf(world.CodeConflict, "Cannot transition run from terminal state %q", found.Status)
	}
}

// CreateLegacyStep implements world.LegacyStore.
func (s *Store) CreateLegacyStep(ctx context.Context, req world.CreateLegacyStep) (world.Step, error) {
	step, err := s.Store.CreateLegacyStep(ctx, req)
	return step, s.overIfArchived(ctx, req.RunID, err)
}

// UpdateLegacyStep implements world.LegacyStore.
func (s *Store) UpdateLegacyStep(ctx context.Context, req world.UpdateLegacyStep) (world.Step, error) {
	step, err := s.Store.UpdateLegacyStep(ctx, req)
	return step, s.overIfArchived(ctx, req.RunID, err)
}

// CreateLegacyEvent implements world.LegacyStore.
func (s *Store) CreateLegacyEvent(ctx context.Context, req world.CreateLegacyEvent) (world.Event, error) {
	event, err := s.Store.CreateLegacyEvent(ctx, req)
	return event, s.overIfArchived(ctx, req.RunID, err)
}

// CreateLegacyHook implements world.LegacyStore.
func (s *Store) CreateLegacyHook(ctx context.Context, req world.CreateLegacyHook) (world.Hook, error) {
	hook, err := s.Store.CreateLegacyHook(ctx, req)
	return hook, s.overIfArchived(ctx, req.RunID, err)
}

// overIfArchived refuses a call for an archived run with CodeRunExpired.
func (s *Store) overIfArchived(ctx context.Context, runID string, err error) error {
	if code := world.ErrorCode(err); code != world.CodeRunNotFound && code != world.CodeStepNotFound {
		return err
	}
	run, failed := s.left(ctx, runID)
	switch {
	case failed != nil:
		return failed
	case run == nil:
		return err
	default:
		return expired(run)
	}
}

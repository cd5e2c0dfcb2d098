package storage

import (
	"context"
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// CreateLegacyStep implements world.LegacyStore.
func (s *Store) CreateLegacyStep(ctx context.Context, req world.CreateLegacyStep) (world.Step, error) {
	if err := checkLegacyIDs("runId", req.RunID, "stepId", req.StepID); err != nil {
		return world.Step{}, err
	}
	switch {
	case req.StepName == "":
		return world.Step{}, lacking("stepName")
	case len(req.Input) == 0:
		return world.Step{}, lacking("input")
	}
	// Reads that name no run find the run here. Without a step the entry does no harm.
	if err := s.redis.HSet(ctx, s.keys.locator(req.StepID), req.StepID, req.RunID).Err(); err != nil {
		return world.Step{}, fail(err)
	}
	c := s.newLegacyCall(req.RunID, req.StepID, req.RequestID, "create", req.ResolveNone)
	r, err := s.runLegacy(ctx, c, s.scripts.legacyStepCreate, []string{c.keys.step(req.StepID), c.keys.steps()},
		req.StepID, req.StepName, []byte(req.Input))
	return legacyStepResult(c, r, err)
}

// UpdateLegacyStep implements world.LegacyStore.
func (s *Store) UpdateLegacyStep(ctx context.Context, req world.UpdateLegacyStep) (world.Step, error) {
	if err := checkLegacyIDs("runId", req.RunID, "stepId", req.StepID); err != nil {
		return world.Step{}, err
	}
	known := []world.StepStatus{"", world.StepPending, world.StepRunning, world.StepCompleted, world.StepFailed, world.StepCancelled}
	if !slices.Contains(known, req.Status) {
		return world.Step{}, badStatus("step", req.Status)
	}
	c := s.newLegacyCall(req.RunID, req.StepID, req.RequestID, "update "+string(req.Status), req.ResolveNone)
	r, err := s.runLegacy(ctx, c, s.scripts.legacyStepUpdate, []string{c.keys.step(req.StepID)},
		string(req.Status), optionalCount(req.Attempt), []byte(req.Output), []byte(req.Error), optionalMillis(req.RetryAfter))
	return legacyStepResult(c, r, err)
}

func legacyStepResult(c legacyCall, r record.Reply, err error) (world.Step, error) {
	if err != nil {
		return world.Step{}, err
	}
	e, err := record.DecodeEntity(c.runID, r.List(1), nil)
	if err != nil {
		return world.Step{}, fail(err)
	}
	e.AsOf(r.Text(2))
	return e.Step(c.entity, c.none), nil
}

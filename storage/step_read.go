package storage

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// GetStep implements world.StepStore.
func (s *Store) GetStep(ctx context.Context, runID, stepID string, resolveNone bool) (world.Step, error) {
	if err := world.CheckID("stepId", stepID); err != nil {
		return world.Step{}, err
	}
	if runID == "" {
		located, err := s.locate(ctx, stepID)
		if err != nil {
			return world.Step{}, err
		}
		if runID = located; runID == "" {
			return world.Step{}, world.StepNotFound(stepID)
		}
	}
	if err := world.CheckID("runId", runID); err != nil {
		return world.Step{}, err
	}
	heads, err := s.stepHeads(ctx, runID, []string{stepID}, resolveNone)
	if err != nil {
		return world.Step{}, err
	}
	if heads[0] == nil {
		return world.Step{}, world.StepNotFound(stepID)
	}
	if err := s.fill(ctx, heads[0].gaps); err != nil {
		return world.Step{}, err
	}
	step, err := heads[0].read()
	if err != nil {
		return world.Step{}, err
	}
	return *step, nil
}

// locate returns the run of an entity, "" if it is not known.
func (s *Store) locate(ctx context.Context, correlationID string) (string, error) {
	runID, err := s.redis.HGet(ctx, s.keys.locator(correlationID), correlationID).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return runID, fail(err)
}

// stepHeads reads steps of one run; nil where there is no such step.
func (s *Store) stepHeads(ctx context.Context, runID string, stepIDs []string, resolveNone bool) ([]*head[world.Step], error) {
	keys := s.keys.of(runID)
	inputs := make([]scriptInput, len(stepIDs))
	for i, id := range stepIDs {
		inputs[i] = scriptInput{keys: []string{keys.step(id), keys.run(), keys.events()}, args: []any{want(resolveNone), roomOf(len(stepIDs))}}
	}
	replies, err := s.runMany(ctx, s.scripts.stepRead, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]*head[world.Step], len(stepIDs))
	for i, r := range replies {
		code, err := r.Code()
		if err != nil {
			return nil, fail(err)
		}
		if code != codeDone {
			continue
		}
		h := &head[world.Step]{}
		h.entity(keys.step(stepIDs[i]), keys.events(), r.List(1))
		h.read = func() (*world.Step, error) {
			e, err := record.DecodeEntity(runID, r.List(1), nil)
			if err != nil {
				return nil, fail(err)
			}
			step := e.Step(stepIDs[i], resolveNone)
			return &step, nil
		}
		out[i] = h
	}
	return out, nil
}

// ListSteps implements world.StepStore.
func (s *Store) ListSteps(ctx context.Context, q world.StepQuery) (world.Page[world.Step], error) {
	if err := world.CheckID("runId", q.RunID); err != nil {
		return world.Page[world.Step]{}, err
	}
	l := lister[world.Step]{
		store: s, scope: "steps/" + q.RunID, order: world.Descending, limit: 20,
		entries: func(after *paging.Place, order world.Order, n int) ([]paging.Place, error) {
			return paging.Entries(ctx, s.redis, s.keys.of(q.RunID).steps(), after, order, n)
		},
		heads: func(entries []paging.Place) ([]*head[world.Step], error) {
			stepIDs := make([]string, len(entries))
			for i, e := range entries {
				stepIDs[i] = e.ID
			}
			return s.stepHeads(ctx, q.RunID, stepIDs, q.ResolveNone)
		},
	}
	return l.page(ctx, q.Page)
}

package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// GetRun implements world.RunStore.
func (s *Store) GetRun(ctx context.Context, runID string, resolveNone bool) (world.Run, error) {
	if err := world.CheckID("runId", runID); err != nil {
		return world.Run{}, err
	}
	keys := s.keys.of(runID)
	r, err := s.scripts.runRead.Run(ctx, s.redis, []string{keys.run(), keys.events()}, want(resolveNone), roomOf(1))
	if err != nil {
		return world.Run{}, fail(err)
	}
	h, err := s.runHead(runID, r, resolveNone)
	if err != nil {
		return world.Run{}, err
	}
	if h == nil {
		return world.Run{}, world.RunNotFound(runID)
	}
	if err := s.fill(ctx, h.gaps); err != nil {
		return world.Run{}, err
	}
	run, err := h.read()
	if err != nil {
		return world.Run{}, err
	}
	return *run, nil
}

// runHead reads the reply of run_read; nil if there is no such run.
func (s *Store) runHead(runID string, r record.Reply, resolveNone bool) (*head[world.Run], error) {
	code, err := r.Code()
	if err != nil {
		return nil, fail(err)
	}
	if code != codeDone {
		return nil, nil //nolint:nilnil // as documented
	}
	h := &head[world.Run]{}
	keys := s.keys.of(runID)
	h.entity(keys.run(), keys.events(), r.List(1))
	h.read = func() (*world.Run, error) {
		e, err := record.DecodeEntity(runID, r.List(1), nil)
		if err != nil {
			return nil, fail(err)
		}
		run := e.Run(resolveNone)
		return &run, nil
	}
	return h, nil
}

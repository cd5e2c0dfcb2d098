package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// GetRun implements world.RunStore.
func (s *Store) GetRun(ctx context.Context, runID string, resolveNone bool) (world.Run, error) {
	if !ids.Valid(runID) {
		return world.Run{}, badID("runId", runID)
	}
	keys := s.keys.of(runID)
	r, err := s.scripts.runRead.Run(ctx, s.redis, []string{keys.run(), keys.events()}, want(resolveNone))
	if err != nil {
		return world.Run{}, fail(err)
	}
	return readRun(runID, r, resolveNone)
}

func readRun(runID string, r reply, resolveNone bool) (world.Run, error) {
	code, err := r.code()
	if err != nil {
		return world.Run{}, fail(err)
	}
	if code != codeDone {
		return world.Run{}, world.RunNotFound(runID)
	}
	e, err := decodeEntity(runID, r.list(1), nil)
	if err != nil {
		return world.Run{}, fail(err)
	}
	return e.run(resolveNone), nil
}

package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// GetRuns implements world.RunStore, in one round trip a server.
func (s *Store) GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*world.Run, error) {
	if len(runIDs) > world.MaxGetRuns {
		return nil, world.Errorf(world.CodeInvalid, "%d run ids are asked for; the most is %d", len(runIDs), world.MaxGetRuns)
	}
	inputs := make([]scriptInput, len(runIDs))
	for i, runID := range runIDs {
		if !ids.Valid(runID) {
			return nil, badID("runId", runID)
		}
		keys := s.keys.of(runID)
		inputs[i] = scriptInput{keys: []string{keys.run(), keys.events()}, args: []any{want(resolveNone)}}
	}
	replies, err := s.runMany(ctx, s.scripts.runRead, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]*world.Run, len(runIDs))
	for i, r := range replies {
		run, err := readRun(runIDs[i], r, resolveNone)
		switch world.ErrorCode(err) {
		case "":
			out[i] = &run
		case world.CodeRunNotFound:
		default:
			return nil, err
		}
	}
	return out, nil
}

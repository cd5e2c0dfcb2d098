package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// GetRuns implements world.RunStore.
func (s *Store) GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*world.Run, error) {
	for _, runID := range runIDs {
		if err := world.CheckID("runId", runID); err != nil {
			return nil, err
		}
	}
	if err := world.CheckList("run id", runIDs, world.MaxGetRuns); err != nil {
		return nil, err
	}
	out := make([]*world.Run, 0, len(runIDs))
	bytes := 0
	for len(out) < len(runIDs) {
		part := runIDs[len(out):min(len(runIDs), len(out)+headsAtOnce)]
		heads, err := s.runHeads(ctx, part, resolveNone, nil)
		if err != nil {
			return nil, err
		}
		var gaps []gap
		for i, h := range heads {
			if h == nil {
				continue
			}
			if bytes > 0 && bytes+h.bytes > pageBytes {
				heads = heads[:i]
				break
			}
			bytes, gaps = bytes+h.bytes, append(gaps, h.gaps...)
		}
		if err := s.fill(ctx, gaps); err != nil {
			return nil, err
		}
		for _, h := range heads {
			var run *world.Run
			if h != nil {
				if run, err = h.read(); err != nil {
					return nil, err
				}
			}
			out = append(out, run)
		}
		if len(heads) < len(part) {
			break
		}
	}
	return out, nil
}

package storage

import (
	"context"
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// ListRuns implements world.RunStore.
func (s *Store) ListRuns(ctx context.Context, q world.RunQuery) (world.Page[world.Run], error) {
	if q.NoMatch {
		return world.Page[world.Run]{Data: []world.Run{}}, nil
	}
	for _, status := range q.Statuses {
		if !slices.Contains(runindex.Statuses, status) {
			return world.Page[world.Run]{}, world.Errorf(world.CodeInvalid, "%q is no run status", status)
		}
	}
	query, err := s.index.Query(ctx, q.WorkflowName, q.Statuses, paging.Within{From: q.CreatedFrom, Before: q.CreatedBefore})
	if err != nil {
		return world.Page[world.Run]{}, fail(err)
	}
	l := lister[world.Run]{
		store: s, scope: "runs", order: world.Descending, limit: 20,
		entries: func(after *paging.Place, order world.Order, n int) ([]paging.Place, error) {
			return query.Entries(ctx, after, order, n)
		},
		match: func(entries []paging.Place) ([]int, error) { return query.Match(ctx, entries) },
		heads: func(entries []paging.Place) ([]*head[world.Run], error) {
			runIDs := make([]string, len(entries))
			for i, e := range entries {
				runIDs[i] = e.ID
			}
			return s.runHeads(ctx, runIDs, q.ResolveNone, query.Matches)
		},
	}
	return l.page(ctx, q.Page)
}

// runHeads reads runs, in one round trip a server; nil where there is no such run. The entries of a list are only hints, so the
// run decides whether it is shown.
func (s *Store) runHeads(ctx context.Context, runIDs []string, resolveNone bool, shown func(world.Run) bool) ([]*head[world.Run], error) {
	inputs := make([]scriptInput, len(runIDs))
	for i, runID := range runIDs {
		keys := s.keys.of(runID)
		inputs[i] = scriptInput{keys: []string{keys.run(), keys.events()}, args: []any{want(resolveNone), roomOf(len(runIDs))}}
	}
	replies, err := s.runMany(ctx, s.scripts.runRead, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]*head[world.Run], len(runIDs))
	for i, r := range replies {
		if out[i], err = s.runHead(runIDs[i], r, resolveNone); err != nil {
			return nil, err
		}
		if h := out[i]; h != nil && shown != nil {
			read := h.read
			h.read = func() (*world.Run, error) {
				run, err := read()
				if err != nil || !shown(*run) {
					return nil, err
				}
				return run, nil
			}
		}
	}
	return out, nil
}

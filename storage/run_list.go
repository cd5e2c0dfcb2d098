package storage

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// ListRuns implements world.RunStore.
func (s *Store) ListRuns(ctx context.Context, q world.RunQuery) (world.Page[world.Run], error) {
	if q.NoMatch {
		return world.Page[world.Run]{Data: []world.Run{}}, nil
	}
	for _, status := range q.Statuses {
		if !slices.Contains(statuses, status) {
			return world.Page[world.Run]{}, world.Errorf(world.CodeInvalid, "%q is no run status", status)
		}
	}
	keys, err := s.runLists(ctx, q)
	if err != nil {
		return world.Page[world.Run]{}, err
	}
	l := lister[world.Run]{
		store: s, scope: "runs", order: world.Descending, limit: 20,
		entries: func(after *place, order world.Order, n int) ([]place, error) {
			return s.merged(ctx, keys, after, order, n)
		},
		match: func(entries []place) ([]int, error) { return s.matchRuns(ctx, q, keys, entries) },
		heads: func(entries []place) ([]*head[world.Run], error) {
			runIDs := make([]string, len(entries))
			for i, e := range entries {
				runIDs[i] = e.id
			}
			return s.runHeads(ctx, runIDs, q.ResolveNone, func(r world.Run) bool { return runMatches(q, r) })
		},
	}
	return l.page(ctx, q.Page)
}

// runLists chooses the lists to walk: with both filters the shorter of the two.
func (s *Store) runLists(ctx context.Context, q world.RunQuery) ([]string, error) {
	var byStatus []string
	for _, status := range q.Statuses {
		if key := s.keys.runsByStatus(status); !slices.Contains(byStatus, key) {
			byStatus = append(byStatus, key)
		}
	}
	byName := s.keys.runsByName(q.WorkflowName)
	switch {
	case q.WorkflowName == "" && len(byStatus) == 0:
		return []string{s.keys.runsIndex()}, nil
	case len(byStatus) == 0:
		return []string{byName}, nil
	case q.WorkflowName == "":
		return byStatus, nil
	}
	var named, inStatus int64
	cmds, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZCard(ctx, byName)
		for _, key := range byStatus {
			p.ZCard(ctx, key)
		}
		return nil
	})
	if err != nil {
		return nil, fail(err)
	}
	for i, cmd := range cmds {
		if n := cmd.(*redis.IntCmd).Val(); i == 0 {
			named = n
		} else {
			inStatus += n
		}
	}
	if named <= inStatus {
		return []string{byName}, nil
	}
	return byStatus, nil
}

// runHeads reads runs, in one round trip a server; nil where the run does not exist. The entries of a list are only hints, so
// what is shown goes by the run.
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

// matchRuns returns which entries may match, by their status alone: cheap, where reading
// thousands of runs to show twenty would not be.
func (s *Store) matchRuns(ctx context.Context, q world.RunQuery, keys []string, entries []place) ([]int, error) {
	matching := make([]int, 0, len(entries))
	if len(entries) == 0 {
		return matching, nil
	}
	named := q.WorkflowName != ""
	cmds, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, e := range entries {
			p.HGet(ctx, s.keys.of(e.id).run(), "s")
			if named {
				p.ZScore(ctx, s.keys.runsByName(q.WorkflowName), e.id)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fail(err)
	}
	step := 1
	if named {
		step = 2
	}
	for i := range entries {
		status, err := cmds[i*step].(*redis.StringCmd).Result()
		if err != nil && s.now()-entries[i].ms > sweepAge {
			s.dropGhost(ctx, keys, entries[i])
		}
		if err != nil {
			continue
		}
		if has := world.RunStatus(status); len(q.Statuses) > 0 && !slices.Contains(q.Statuses, has) {
			if has.Terminal() {
				s.dropOtherEnd(ctx, q.Statuses, keys, entries[i])
			}
			continue
		}
		if named && cmds[i*step+1].Err() != nil {
			continue
		}
		matching = append(matching, i)
	}
	return matching, nil
}

// dropOtherEnd takes a run that has ended off those of the walked lists, of runs that have ended with one of the
// statuses, which are not its own: there it came with an event that was not applied in the end. Whether it is off the
// lists of the living is the sweeper's business.
func (s *Store) dropOtherEnd(ctx context.Context, statuses []world.RunStatus, keys []string, e place) {
	for _, status := range statuses {
		key := s.keys.runsByStatus(status)
		if !status.Terminal() || !slices.Contains(keys, key) {
			continue
		}
		if err := s.redis.ZRem(ctx, key, e.id).Err(); err != nil {
			s.log.InfoContext(ctx, "a run stays in a list of runs that ended otherwise", slog.String("run_id", e.id), slog.Any("error", err))
		}
	}
}

// dropGhost takes a run that never came to be off the lists that showed it.
func (s *Store) dropGhost(ctx context.Context, keys []string, e place) {
	for _, key := range keys {
		if err := s.redis.ZRem(ctx, key, e.id).Err(); err != nil {
			s.log.InfoContext(ctx, "a ghost stays in a list of runs", slog.String("run_id", e.id), slog.Any("error", err))
		}
	}
	// Should it have come to be at this very moment, it goes back.
	run, found, err := s.peekRun(ctx, e.id)
	if err == nil && found {
		_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			s.add(ctx, p, runEntry{runID: e.id, name: run.WorkflowName, status: run.Status, score: float64(e.ms)})
			return nil
		})
	}
	if err != nil {
		s.log.InfoContext(ctx, "a run may be missing in lists", slog.String("run_id", e.id), slog.Any("error", err))
	}
}

func runMatches(q world.RunQuery, r world.Run) bool {
	return (q.WorkflowName == "" || r.WorkflowName == q.WorkflowName) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status))
}

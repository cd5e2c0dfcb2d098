package runindex

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
)

// Query reads the entries of the runs that a list call asks for.
type Query struct {
	index    *Index
	name     string
	statuses []world.RunStatus
	within   paging.Within
	keys     []string // of the lists to walk
}

// Query chooses the lists to walk: with both filters the shorter of the two. No name and no statuses are all.
func (x *Index) Query(ctx context.Context, name string, statuses []world.RunStatus, within paging.Within) (*Query, error) {
	q := &Query{index: x, name: name, statuses: statuses, within: within}
	var byStatus []string
	for _, status := range statuses {
		if key := x.Keys.ByStatus(status); !slices.Contains(byStatus, key) {
			byStatus = append(byStatus, key)
		}
	}
	byName := []string{x.Keys.ByName(name)}
	switch {
	case name == "" && len(byStatus) == 0:
		q.keys = []string{x.Keys.All()}
		return q, nil
	case len(byStatus) == 0:
		q.keys = byName
		return q, nil
	case name == "":
		q.keys = byStatus
		return q, nil
	}
	cmds, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range append(byName, byStatus...) {
			p.ZCard(ctx, key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var named, inStatus int64
	for i, cmd := range cmds {
		if n := cmd.(*redis.IntCmd).Val(); i == 0 {
			named = n
		} else {
			inStatus += n
		}
	}
	q.keys = byStatus
	if named <= inStatus {
		q.keys = byName
	}
	return q, nil
}

// Entries returns entries of the chosen lists.
func (q *Query) Entries(ctx context.Context, after *paging.Place, order world.Order, n int) ([]paging.Place, error) {
	return paging.Merged(ctx, q.index.Redis, q.keys, q.within, after, order, n)
}

// Matches reports whether a run is one that is asked for.
func (q *Query) Matches(r world.Run) bool {
	return (q.name == "" || r.WorkflowName == q.name) && (len(q.statuses) == 0 || slices.Contains(q.statuses, r.Status))
}

// Match returns which entries may match, by the status of the runs alone: this is cheap, and reading
// thousands of runs to show twenty would not be. It removes entries that it finds to be stale.
func (q *Query) Match(ctx context.Context, entries []paging.Place) ([]int, error) {
	x, matching := q.index, make([]int, 0, len(entries))
	if len(entries) == 0 {
		return matching, nil
	}
	named := q.name != ""
	cmds, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, e := range entries {
			p.HGet(ctx, x.RunKey(e.ID), "s")
			if named {
				p.ZScore(ctx, x.Keys.ByName(q.name), e.ID)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	step := 1
	if named {
		step = 2
	}
	for i := range entries {
		status, err := cmds[i*step].(*redis.StringCmd).Result()
		if err != nil && x.Now()-entries[i].MS > Grace {
			q.dropUncreated(ctx, entries[i])
		}
		if err != nil {
			continue
		}
		if has := world.RunStatus(status); len(q.statuses) > 0 && !slices.Contains(q.statuses, has) {
			if has.Terminal() {
				q.dropOtherEnd(ctx, entries[i])
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

// dropOtherEnd removes a run that has ended from those of the walked lists that are of another end. It is there because of an
// event that was refused. Whether it is in lists of the living is left to the sweeper.
func (q *Query) dropOtherEnd(ctx context.Context, e paging.Place) {
	for _, status := range q.statuses {
		key := q.index.Keys.ByStatus(status)
		if !status.Terminal() || !slices.Contains(q.keys, key) {
			continue
		}
		if err := q.index.Redis.ZRem(ctx, key, e.ID).Err(); err != nil {
			q.index.logStale(ctx, e.ID, err)
		}
	}
}

// dropUncreated removes a run that was never created from the walked lists, and puts it back if it was created meanwhile.
func (q *Query) dropUncreated(ctx context.Context, e paging.Place) {
	for _, key := range q.keys {
		if err := q.index.Redis.ZRem(ctx, key, e.ID).Err(); err != nil {
			q.index.logStale(ctx, e.ID, err)
		}
	}
	if err := q.index.putBack(ctx, Entry{RunID: e.ID, Score: float64(e.MS)}); err != nil {
		q.index.Log.InfoContext(ctx, "a run may be missing in lists", slog.String("run_id", e.ID), slog.Any("error", err))
	}
}

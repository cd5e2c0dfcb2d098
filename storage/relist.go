package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// Relist implements world.LossStore. It costs a small read for each call, and a few writes for each run that is active.
func (s *Store) Relist(ctx context.Context, calls []world.AnsweredCall) (takenBack int, err error) {
	if len(calls) == 0 {
		return 0, nil
	}
	reads := make([]idleReads, len(calls))
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			reads[i] = s.queueIdle(ctx, p, c.RunID)
		}
		return nil
	})
	if err != nil {
		return 0, fail(err)
	}
	var active, ended []runindex.Entry
	for i, c := range calls {
		status := reads[i].status()
		if status != world.RunPending && status != world.RunRunning {
			continue
		}
		e := s.index.Entry(c.RunID, c.WorkflowName, c.At, status)
		if c.Kind == world.AnsweredEnd {
			ended = append(ended, e)
		} else if !reads[i].idle().MarkedIdle {
			active = append(active, e)
		}
	}
	for _, e := range ended {
		did, err := s.index.BringBack(ctx, e)
		if err != nil {
			return takenBack, fail(err)
		}
		if did {
			takenBack++
		}
	}
	return takenBack, fail(s.index.AddMissing(ctx, active))
}

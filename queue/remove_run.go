package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/rediskey"
)

const (
	// removedAtOnce is how many messages of a run are looked up at a time.
	removedAtOnce = 100
	// endedLooked is how many messages that have ended are looked up in one pipeline.
	endedLooked = 250
)

// RemoveRuns drops the messages of runs that are being removed, also those that are dead or kept after they were done. A message
// that is being delivered is dropped when its delivery ends. Runs without messages take one round trip together.
func (q *Queue) RemoveRuns(ctx context.Context, runIDs []string) error {
	if len(runIDs) == 0 {
		return nil
	}
	parts := make([]string, len(runIDs))
	for i, runID := range runIDs {
		parts[i] = rediskey.Part(runID)
	}
	for _, w := range q.workers() {
		busy, err := w.withMessages(ctx, parts)
		if err != nil {
			return err
		}
		for _, part := range busy {
			if err := w.dropOf(ctx, part); err != nil {
				return err
			}
		}
		if err := w.dropEnded(ctx, parts); err != nil {
			return err
		}
	}
	return nil
}

// withMessages returns the runs that have messages which are neither done nor dead.
func (w *worker) withMessages(ctx context.Context, parts []string) (busy []string, err error) {
	found := make([]*redis.IntCmd, len(parts))
	_, err = w.q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, part := range parts {
			found[i] = p.Exists(ctx, w.Keys.OfRun+part)
		}
		return nil
	})
	if err != nil {
		return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
	}
	for i, part := range parts {
		if found[i].Val() > 0 {
			busy = append(busy, part)
		}
	}
	return busy, nil
}

// dropOf drops the messages of a run that are neither done nor dead.
func (w *worker) dropOf(ctx context.Context, part string) error {
	for cursor := uint64(0); ; {
		ids, next, err := w.q.redis.SScan(ctx, w.Keys.OfRun+part, cursor, "", removedAtOnce).Result()
		if err != nil {
			return unreadable(fmt.Errorf("messages of a run: %w", err))
		}
		for _, id := range ids {
			if _, err := w.q.dropFrom(ctx, w, id); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// dropEnded drops the messages of runs that are dead or done. A queue keeps some hundred of them, in no order of runs, so this process
// remembers their runs.
func (w *worker) dropEnded(ctx context.Context, parts []string) error {
	runs, err := w.ended.runsOf(ctx, w)
	if err != nil {
		return unreadable(fmt.Errorf("messages that have ended: %w", err))
	}
	if len(runs) == 0 {
		return nil
	}
	for _, part := range parts {
		for _, id := range runs[part] {
			if _, err := w.q.dropFrom(ctx, w, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// endedMessages remembers the runs of the messages of a queue that have ended.
type endedMessages struct {
	mu  sync.Mutex
	run map[string]string // message id → run; empty: it has none
}

// runsOf returns the messages that have ended, by run. It reads the run of each message once.
func (e *endedMessages) runsOf(ctx context.Context, w *worker) (map[string][]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var dead, done *redis.StringSliceCmd
	_, err := w.q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		dead, done = p.ZRange(ctx, w.Keys.Archived, 0, -1), p.ZRange(ctx, w.Keys.Completed, 0, -1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := make(map[string]string, len(e.run))
	var unknown []string
	for _, id := range slices.Concat(dead.Val(), done.Val()) {
		if run, ok := e.run[id]; ok {
			now[id] = run
		} else {
			unknown = append(unknown, id)
		}
	}
	for part := range slices.Chunk(unknown, endedLooked) {
		reads := make([]*redis.StringCmd, len(part))
		_, err := w.q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, id := range part {
				reads[i] = p.HGet(ctx, w.Keys.Task+id, "run")
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		for i, id := range part {
			now[id] = reads[i].Val()
		}
	}
	e.run = now
	byRun := map[string][]string{}
	for id, run := range now {
		if run != "" {
			byRun[run] = append(byRun[run], id)
		}
	}
	return byRun, nil
}

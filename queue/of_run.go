package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/rediskey"
)

// Each queue has a set of messages for each run, those that are neither done nor dead. The
// scripts keep it, so that it changes with the message; it is gone with the last of them.

// Outstanding reports for each run whether any message of it is still to be delivered, is
// delayed, waits for something, or is being delivered. A message that was enqueued by a version
// of this program from before these sets does not count.
func (q *Queue) Outstanding(ctx context.Context, runIDs []string) ([]bool, error) {
	pipe := q.redis.Pipeline()
	var found [][2]*redis.IntCmd
	for _, runID := range runIDs {
		part := rediskey.Part(runID)
		found = append(found, [2]*redis.IntCmd{pipe.Exists(ctx, q.flows.keys.ofRun+part), pipe.Exists(ctx, q.steps.keys.ofRun+part)})
	}
	if len(runIDs) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
	}
	out := make([]bool, len(runIDs))
	for i, f := range found {
		out[i] = f[0].Val()+f[1].Val() > 0
	}
	return out, nil
}

package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// DropMessage implements world.QueueAdmin.
func (q *Queue) DropMessage(ctx context.Context, messageID string) (world.DropOutcome, error) {
	for _, w := range q.workers() {
		if outcome, err := q.dropFrom(ctx, w, messageID); err != nil || outcome != "" {
			return outcome, err
		}
	}
	return "", messageNotFound(messageID)
}

// dropFrom drops a message from one queue. The outcome is empty if it is not there.
func (q *Queue) dropFrom(ctx context.Context, w *worker, messageID string) (world.DropOutcome, error) {
	k := &w.Keys
	keys := []string{k.Task + messageID, k.Pending, k.Scheduled, k.Retry, k.Archived, k.Completed, k.WaitingForApp, k.Waiting, k.Parked, k.Delayed}
	reply, err := q.scripts.Remove.Run(ctx, q.redis, keys, messageID, forgetSearch)
	if err != nil {
		return "", unchanged(err)
	}
	switch code, err := script.Code(reply); {
	case err != nil:
		return "", unchanged(err)
	case code == 0:
		return world.Dropped, nil
	case code == 1:
		return world.DropInHand, nil
	default:
		return "", nil
	}
}

// CountRunMessages implements world.QueueAdmin.
func (q *Queue) CountRunMessages(ctx context.Context, runID string) (int64, error) {
	part := rediskey.Part(runID)
	var counts []*redis.IntCmd
	pipe := q.redis.Pipeline()
	for _, w := range q.workers() {
		counts = append(counts, pipe.SCard(ctx, w.Keys.OfRun+part))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, unreadable(fmt.Errorf("messages of a run: %w", err))
	}
	n := int64(0)
	for _, c := range counts {
		n += c.Val()
	}
	return n, nil
}

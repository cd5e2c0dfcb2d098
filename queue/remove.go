package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// DropMessage implements world.QueueAdmin.
func (q *Queue) DropMessage(ctx context.Context, messageID string) (world.DropOutcome, error) {
	for _, l := range q.lanes() {
		k := &l.keys
		keys := []string{k.task + messageID, k.pending, k.scheduled, k.retry, k.archived, k.completed, k.waitingForApp, k.waiting, k.parked, k.delayed}
		reply, err := q.scripts.remove.Run(ctx, q.redis, keys, messageID, forgetSearch)
		if err != nil {
			return "", unchanged(err)
		}
		code, err := replyCode(reply)
		if err != nil {
			return "", unchanged(err)
		}
		switch code {
		case 0:
			return world.Dropped, nil
		case 1:
			return world.DropInHand, nil
		}
	}
	return "", messageNotFound(messageID)
}

// CountRunMessages implements world.QueueAdmin.
func (q *Queue) CountRunMessages(ctx context.Context, runID string) (int64, error) {
	part := rediskey.Part(runID)
	var counts []*redis.IntCmd
	pipe := q.redis.Pipeline()
	for _, l := range q.lanes() {
		counts = append(counts, pipe.SCard(ctx, l.keys.ofRun+part))
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

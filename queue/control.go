package queue

import (
	"context"
	"fmt"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisfault"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// Redrive implements world.QueueAdmin.
func (q *Queue) Redrive(ctx context.Context, messageID string) (world.RedriveOutcome, error) {
	for _, w := range q.workers() {
		k := &w.Keys
		reply, err := q.scripts.Redrive.Run(ctx, q.redis, []string{k.Task + messageID, k.Archived, k.Pending, k.Idempotency, k.Bell},
			messageID, q.cfg.Clock.Now().UnixNano(), k.Task, q.process.RingText(0))
		if err != nil {
			return "", unchanged(err)
		}
		code, err := script.Code(reply)
		if err != nil {
			return "", unchanged(err)
		}
		switch code {
		case 0:
			w.Notify(0)
			return world.Redriven, nil
		case 2:
			return world.RedriveKeyHeld, nil
		}
	}
	return world.RedriveNotDead, nil
}

// PauseQueue implements world.QueueAdmin. The flag is asynq's, so its tools see and end the pause.
func (q *Queue) PauseQueue(ctx context.Context, kind world.Kind) error {
	if err := q.redis.SetNX(ctx, q.worker(kind).Keys.Paused, q.cfg.Clock.Now().Unix(), 0).Err(); err != nil {
		return unchanged(err)
	}
	return nil
}

// ResumeQueue implements world.QueueAdmin.
func (q *Queue) ResumeQueue(ctx context.Context, kind world.Kind) error {
	w := q.worker(kind)
	if err := q.redis.Del(ctx, w.Keys.Paused).Err(); err != nil {
		return unchanged(err)
	}
	// Replicas that miss the bell look again within seconds.
	q.redis.Publish(ctx, w.Keys.Bell, q.process.RingText(0))
	w.Notify(0)
	return nil
}

func unchanged(err error) error {
	return world.Wrap(world.CodeUnavailable, fmt.Errorf("control the queue: %w", err), "the queue could not be changed: "+redisfault.Sentence(err))
}

package queue

import (
	"context"
	"fmt"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisfault"
)

// Redrive implements world.QueueAdmin.
func (q *Queue) Redrive(ctx context.Context, messageID string) (world.RedriveOutcome, error) {
	for _, l := range q.lanes() {
		k := &l.keys
		reply, err := q.scripts.redrive.Run(ctx, q.redis, []string{k.task + messageID, k.archived, k.pending, k.idempotency, k.bell},
			messageID, q.cfg.Clock.Now().UnixNano(), k.task, q.ringing(0))
		if err != nil {
			return "", unchanged(err)
		}
		code, err := replyCode(reply)
		if err != nil {
			return "", unchanged(err)
		}
		switch code {
		case 0:
			l.bell.ring()
			return world.Redriven, nil
		case 2:
			return world.RedriveKeyHeld, nil
		}
	}
	return world.RedriveNotDead, nil
}

// PauseQueue implements world.QueueAdmin. The flag is asynq's, so its tools see and end the pause.
func (q *Queue) PauseQueue(ctx context.Context, kind world.Kind) error {
	if err := q.redis.SetNX(ctx, q.lane(kind).keys.paused, q.cfg.Clock.Now().Unix(), 0).Err(); err != nil {
		return unchanged(err)
	}
	return nil
}

// ResumeQueue implements world.QueueAdmin.
func (q *Queue) ResumeQueue(ctx context.Context, kind world.Kind) error {
	l := q.lane(kind)
	if err := q.redis.Del(ctx, l.keys.paused).Err(); err != nil {
		return unchanged(err)
	}
	// Replicas that do not hear it look again within seconds.
	q.redis.Publish(ctx, l.keys.bell, q.ringing(0))
	l.bell.ring()
	return nil
}

func unchanged(err error) error {
	return world.Wrap(world.CodeUnavailable, fmt.Errorf("control the queue: %w", err), "the queue could not be changed: "+redisfault.Sentence(err))
}

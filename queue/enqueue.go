package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

const (
	// requestMemory is how long a repeated queue() call is recognised; protocol.md
	// promises ten minutes.
	requestMemory = 11 * time.Minute
)

// ringArg is the index of the doorbell's text among the arguments of enqueue.lua.
const ringArg = 7

// Enqueue implements world.Queue.
func (q *Queue) Enqueue(ctx context.Context, m world.Message) (string, error) {
	p, err := q.Prepare(ctx, m)
	if err != nil {
		return "", err
	}
	sending := ctx
	if p.claim != nil {
		// It continues when the caller has gone, because a claimed message must not be forgotten.
		var cancel context.CancelFunc
		sending, cancel = context.WithTimeout(context.WithoutCancel(ctx), lane.RedisTimeout)
		defer cancel()
	}
	id, err := p.Finish(sending, q.send.RunInOrder(sending, p.Batch)[0])
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("enqueue: %w", context.Cause(ctx))
	}
	return id, err
}

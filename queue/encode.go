package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hibiken/asynq"

	"github.com/world-redis/world-redis"
)

// forever is a time limit of asynq that no delivery meets: a step may take days.
const forever = 100 * 366 * 24 * time.Hour

// captured is where a message goes that asynq has encoded.
type captured struct{ message any }

type capturedKey struct{}

var errNotEncoded = errors.New("asynq has not encoded the message")

// encode returns a message as asynq encodes it. asynq has no function for that: it enqueues the message, and the backend keeps
// what it would send. The first message of a process puts the queue on asynq's list of queues.
func (l *lane) encode(ctx context.Context, id string, m world.Message) (any, error) {
	payload, err := encodeEnvelope(m)
	if err != nil {
		return nil, world.Wrap(world.CodeInternal, err, "the message cannot be stored")
	}
	var c captured
	_, err = l.q.client.EnqueueContext(context.WithValue(ctx, capturedKey{}, &c), asynq.NewTask(string(l.kind), payload),
		asynq.TaskID(id), asynq.Queue(l.name), asynq.MaxRetry(math.MaxInt32), asynq.Timeout(forever))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("enqueue: %w", context.Cause(ctx))
	case err != nil:
		return nil, notStored(err)
	}
	if c.message == nil {
		return nil, world.Wrap(world.CodeInternal, errNotEncoded, "the message cannot be stored")
	}
	return c.message, nil
}

// capture takes what asynq would add to its queue.
func capture(ctx context.Context, encoded []any) error {
	c, ok := ctx.Value(capturedKey{}).(*captured)
	if !ok || len(encoded) == 0 {
		return errors.New("asynq enqueues in an unknown way")
	}
	c.message = encoded[0]
	return nil
}

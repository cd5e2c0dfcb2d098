package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// requestMemory is how long a repeated queue() call is recognised; protocol.md
	// promises ten minutes.
	requestMemory = 11 * time.Minute
	// maxDelay keeps moments far from the end of every number they travel in.
	maxDelay = 100 * 366 * 24 * time.Hour
)

// ringArg is the place of the doorbell's text among the arguments of enqueue.lua.
const ringArg = 7

// Enqueue implements world.Queue.
func (q *Queue) Enqueue(ctx context.Context, m world.Message) (string, error) {
	p, err := q.Prepare(ctx, m)
	if err != nil {
		return "", err
	}
	sending := ctx
	if p.claim != nil {
		// It goes on when the caller has gone: what is taken must not be forgotten.
		var cancel context.CancelFunc
		sending, cancel = context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
		defer cancel()
	}
	id, err := p.Finish(sending, q.send.RunInOrder(sending, p.Batch)[0])
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("enqueue: %w", context.Cause(ctx))
	}
	return id, err
}

// dueScore is the score of a moment, or empty for now.
func dueScore(due world.Millis) string {
	if due == 0 {
		return ""
	}
	return score(due)
}

// heard acts on a message that is there now, or will be due at a moment.
func (l *lane) heard(due world.Millis) {
	if due == 0 {
		l.bell.ring()
		return
	}
	l.due.note(due)
}

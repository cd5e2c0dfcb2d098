package main

import (
	"context"
	"crypto/rand"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/luascript"
)

// inOrder writes an event and queues the message that follows it, in one round trip. ok is false if nothing was sent,
// because the event or the message is invalid or the event needs more than one script. It is not used on a cluster,
// where the two are on different nodes.
//
// The message is added whatever the result of the event, since Redis runs both before it answers. A message whose
// event was refused does no harm: the next replay of the run, or the first event of the step, finds what is in the
// log. But it must not count as the message of a repeated call, which may come after the event. So it is added under
// a request id that no repeat has. After a lost answer the message is added twice, which does no harm either.
func (t *tenant) inOrder(ctx context.Context, event world.CreateEvent, message world.Message) (made httpapi.EventAndMessage, ok bool) {
	if _, deadline := ctx.Deadline(); deadline || ctx.Err() != nil {
		return made, false
	}
	e, ok := t.store.Prepare(ctx, event)
	if !ok {
		return made, false
	}
	once := message
	once.RequestID = rand.Text()
	m, err := t.queue.Prepare(ctx, once)
	if err != nil {
		return made, false
	}
	// It continues after the caller has gone: the message may have been claimed for delivery.
	answers := t.send.RunInOrder(context.WithoutCancel(ctx), e.Batch, m.Batch)
	// The message comes first: an app may wait for its delivery.
	made.MessageID, made.MessageErr = m.Finish(context.WithoutCancel(ctx), answers[1])
	var first bool
	made.Event, first, made.EventErr = e.Finish(ctx, answers[0])
	if made.EventErr == nil && (!first || luascript.Late(answers...)) {
		// The event was written after the message, whose delivery may have missed it.
		made.MessageID, made.MessageErr = t.queue.Enqueue(ctx, message)
	}
	return made, true
}

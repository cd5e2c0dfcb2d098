package bundle

import (
	"context"
	"net/http"
	"time"

	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
)

// pairCall is an event and the message that follows it. As a transport.Call it is the event.
type pairCall struct {
	*bundledCall // of the event
	message      *bundledCall
	made         operations.Pair
}

// servePair makes an event and queues the message that follows it, in one round trip to Redis if possible. Otherwise
// the message is a call of its own after the event has succeeded.
func (b *Server) servePair(ctx context.Context, event, message *bundledCall) {
	start, p := time.Now(), &pairCall{bundledCall: event, message: message}
	b.serveBundled(ctx, event, p)
	if event.succeeded() && !p.made.Together {
		b.serveBundled(ctx, message, message)
		return
	}
	if err := p.answerMessage(ctx); err != nil {
		message.Refuse(ctx, err)
	}
	status, bytes := message.Answered()
	b.calls.Note(ctx, message.Origin(), status, bytes, time.Since(start))
	if !event.succeeded() {
		// The message may have been queued, but the caller must not rely on it.
		message.release()
		message.bundledAnswer = bundledAnswer{status: http.StatusFailedDependency}
	}
}

// Make implements transport.Call.
func (p *pairCall) Make(ctx context.Context) error {
	e, err := p.made.CreateEvent(ctx, p.bundles.ops, &p.Request, p.identifiedMessage)
	if err != nil {
		return err
	}
	return p.keep(ctx, e)
}

// identifiedMessage returns the request of the message, with its own id.
func (p *pairCall) identifiedMessage() (*input.Request, error) {
	id, err := p.bundles.calls.ID(p.message.Key())
	p.message.Identified(id)
	return &p.message.Request, err
}

// answerMessage answers a message that was queued with its event.
func (p *pairCall) answerMessage(ctx context.Context) error {
	e, err := p.made.EncodeMessage()
	if err != nil {
		return err
	}
	return p.message.keep(ctx, e)
}

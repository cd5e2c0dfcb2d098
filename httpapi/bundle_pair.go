package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// EventAndMessage is what became of an event and of the message that follows it.
type EventAndMessage struct {
	Event      world.EventResult
	EventErr   error
	MessageID  string
	MessageErr error
}

// isPair reports whether a call and the one after it are an event and the message that follows it.
func (a *api) isPair(call, then *bundledCall) bool {
	return a.deps.InOrder != nil && call.op.createsEvent() && then.op.path == pathQueue
}

// pair is an event and the message that follows it. It makes the event, as the transport of that call.
type pair struct {
	*bundledCall // of the event
	message      *bundledCall
	together     bool // the message has been carried out with the event
	made         EventAndMessage
}

// servePair makes an event, and queues the message after it, in the same round trip to Redis where that can be. Where it cannot,
// the message is a call of its own once the event has succeeded.
func (a *api) servePair(ctx context.Context, event, message *bundledCall) {
	start, p := time.Now(), &pair{bundledCall: event, message: message}
	a.serveBundled(ctx, event, p)
	if event.succeeded() && !p.together {
		a.serveBundled(ctx, message, message)
		return
	}
	if err := p.answerMessage(ctx); err != nil {
		message.refuse(ctx, err)
	}
	status, bytes := message.answered()
	a.note(ctx, message.origin(), status, bytes, time.Since(start))
	if !event.succeeded() {
		// A message may be there that the caller does not rely on.
		message.release()
		message.bundledAnswer = bundledAnswer{status: http.StatusFailedDependency}
	}
}

// make implements transport.
func (p *pair) make(ctx context.Context) error {
	event, err := decodeEvent(&p.Request)
	if err != nil {
		return err
	}
	result, err := p.createEvent(ctx, event)
	if err != nil {
		return err
	}
	e := wire.BorrowEncoder()
	encodeResult(e, result)
	return p.keep(ctx, e)
}

// createEvent creates the event, together with the message if that can be read and sent so.
func (p *pair) createEvent(ctx context.Context, event world.CreateEvent) (world.EventResult, error) {
	message, err := p.decodeMessage(ctx)
	if err == nil {
		p.made, p.together = p.api.deps.InOrder(ctx, event, message)
	}
	if !p.together {
		return p.api.createEvent(ctx, event)
	}
	if p.made.EventErr == nil {
		p.api.runEndedBy(event.Type, event.RunID)
	}
	return p.made.Event, p.made.EventErr
}

// decodeMessage reads the message and registers the app that sends it. An error is reported when the message is a call of its own.
func (p *pair) decodeMessage(ctx context.Context) (world.Message, error) {
	id, err := p.api.callID(p.message.key())
	p.message.identified(id)
	if err != nil {
		return world.Message{}, err
	}
	m, err := decodeMessage(&p.message.Request)
	if err == nil {
		err = p.api.registerSender(ctx, &m)
	}
	return m.Message, err
}

// answerMessage answers the message of a pair that was not a call of its own.
func (p *pair) answerMessage(ctx context.Context) error {
	switch {
	case !p.together:
		return world.Errorf(world.CodeConflict, "the message was to follow an event that was refused")
	case p.made.MessageErr != nil:
		return p.made.MessageErr
	}
	e := wire.BorrowEncoder()
	encodeMessageID(e, p.made.MessageID)
	return p.message.keep(ctx, e)
}

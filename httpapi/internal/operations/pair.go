package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

// EventAndMessage is the result of an event and of the message that follows it.
type EventAndMessage struct {
	Event      world.EventResult
	EventErr   error
	MessageID  string
	MessageErr error
}

// AreInOrder reports whether two calls, of which the second is made after the first, are an event and the message that follows it.
func (a *API) AreInOrder(call, then *Operation) bool {
	return a.Deps.InOrder != nil && call.createsEvent() && then.Path == pathQueue
}

// Pair makes an event and the message that follows it, together where that can be.
type Pair struct {
	Together bool // the message has been carried out with the event
	made     EventAndMessage
}

// CreateEvent makes the event and returns its answer, which the caller releases. The message is queued with it if it can be read
// and sent so. message returns what that is called with; it is called once the event has been read.
func (p *Pair) CreateEvent(ctx context.Context, a *API, event *input.Request, message func() (*input.Request, error)) (*wire.Encoder, error) {
	req, err := decodeEvent(event)
	if err != nil {
		return nil, err
	}
	result, err := p.make(ctx, a, req, message)
	if err != nil {
		return nil, err
	}
	e := wire.BorrowEncoder()
	encodeResult(e, result)
	return e, nil
}

func (p *Pair) make(ctx context.Context, a *API, event world.CreateEvent, message func() (*input.Request, error)) (world.EventResult, error) {
	m, err := a.readSent(ctx, message)
	if err == nil {
		p.made, p.Together = a.Deps.InOrder(ctx, event, m)
	}
	if !p.Together {
		return a.createEvent(ctx, event)
	}
	if p.made.EventErr == nil {
		a.runEndedBy(event.Type, event.RunID)
	}
	return p.made.Event, p.made.EventErr
}

// readSent reads the message and registers the app that sends it. An error is reported when the message is a call of its own.
func (a *API) readSent(ctx context.Context, message func() (*input.Request, error)) (world.Message, error) {
	r, err := message()
	if err != nil {
		return world.Message{}, err
	}
	m, err := decodeMessage(r)
	if err == nil {
		err = a.registerSender(ctx, &m)
	}
	return m.Message, err
}

// EncodeMessage returns the answer to a message that was carried out with its event.
func (p *Pair) EncodeMessage() (*wire.Encoder, error) {
	switch {
	case !p.Together:
		return nil, world.Errorf(world.CodeConflict, "the message was to follow an event that was refused")
	case p.made.MessageErr != nil:
		return nil, p.made.MessageErr
	}
	e := wire.BorrowEncoder()
	encodeMessageID(e, p.made.MessageID)
	return e, nil
}

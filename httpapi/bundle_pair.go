package httpapi

import (
	"context"
	"sync"
)

// Pair has two calls that are made at the same time be carried out one after the other, in one round trip where that can be.
// The second is then carried out whatever becomes of the first; it is not where the first has failed before that.
type Pair interface {
	// First and Second are the contexts to make them with.
	First() context.Context
	Second() context.Context
	// FirstEnded and SecondEnded are called when they have ended.
	FirstEnded(well bool)
	SecondEnded()
	// InTime reports, when both have ended, and the first well, whether the second came after what that did.
	InTime() bool
}

// isPair reports whether a call and the one after it are an event and the message that follows it.
func (a *api) isPair(call, then *bundledCall) bool {
	return a.deps.Pair != nil && call.op.createsEvent() && then.op.path == pathQueue
}

// servePair makes an event and the queueing of the message that follows it together. The event has its answer then. queued is false when the
// message is to be queued, or refused, now that it has.
//
// A message that was queued although its event was refused does no harm: the run's next replay, or the step's
// first event, finds how things stand. But it must not stand for the one that a repeat of this call asks for, which
// might come after the event, so it is queued under a name that no repeat has; what is queued twice after an answer that was lost
// does no harm either.
func (a *api) servePair(ctx context.Context, event, message *bundledCall) (queued bool) {
	pair, key := a.deps.Pair(ctx), message.idempotencyKey
	message.idempotencyKey = a.newRequestID()
	var second sync.WaitGroup
	second.Add(1)
	a.crew.start(task{done: &second, make: func(int) {
		defer pair.SecondEnded()
		a.serveBundled(pair.Second(), message)
	}})
	func() {
		defer func() { pair.FirstEnded(event.succeeded()) }()
		a.serveBundled(pair.First(), event)
	}()
	second.Wait()
	if event.succeeded() && pair.InTime() {
		return true
	}
	message.release()
	message.bundledAnswer, message.idempotencyKey = bundledAnswer{}, key
	return false
}

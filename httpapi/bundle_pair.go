package httpapi

import (
	"context"
	"net/http"
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

// serveInOrder makes a call, and the one after it once it has succeeded; else that is answered
// 424.
func (s *Server) serveInOrder(outer *http.Request, call *bundledCall, answer *bundledAnswer) {
	if call.then == nil {
		s.serveBundled(outer, call, answer)
		return
	}
	then, done := &bundledAnswer{}, false
	if _, event := call.runOfEvent(); event && call.then.path == routeQueue && s.deps.Pair != nil {
		done = s.servePair(outer, call, answer, then)
	} else {
		s.serveBundled(outer, call, answer)
	}
	switch {
	case done:
	case answer.succeeded():
		s.serveBundled(outer, call.then, then)
	default:
		then.status = http.StatusFailedDependency
	}
	answer.then = then
}

// servePair makes an event and the queueing of a message together. done is false when the message is to be
// queued, or refused, now that the event has its answer.
//
// A message that was queued although its event was refused does no harm: the run's next replay, or the step's
// first event, finds how things stand. But it must not stand for the one that a repeat of this call asks for, which
// might come after the event, so it is queued under a name that no repeat has; what is queued twice after an answer that was lost
// does no harm either.
func (s *Server) servePair(outer *http.Request, call *bundledCall, answer, then *bundledAnswer) (done bool) {
	pair := s.deps.Pair(outer.Context())
	next := *call.then
	next.key = s.deps.NewRequestID()
	var second sync.WaitGroup
	second.Add(1)
	s.crew.start(task{done: &second, make: func(int) {
		defer pair.SecondEnded()
		s.serveBundled(outer.WithContext(pair.Second()), &next, then)
	}})
	func() {
		defer func() { pair.FirstEnded(answer.succeeded()) }()
		s.serveBundled(outer.WithContext(pair.First()), call, answer)
	}()
	second.Wait()
	if answer.succeeded() && pair.InTime() {
		return true
	}
	then.release()
	*then = bundledAnswer{}
	return false
}

func (a *bundledAnswer) succeeded() bool { return a.status >= 200 && a.status <= 299 }

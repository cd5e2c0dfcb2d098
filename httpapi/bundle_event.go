package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// The routes that are known without the router, as it names them.
const (
	routeQueue     = "/v1/queue"
	routeEvents    = "/v1/events"
	routeCalls     = "/v1/calls"
	routeRunEvents = "/v1/runs/:runId/events"
)

// runOfEvent reports whether a call creates an event, and of which run; "" is a run that gets its id
// with it. An id that does not stand in the path as it is, or is none, is left to the routes.
func (b *bundledCall) runOfEvent() (runID string, ok bool) {
	if b.body == nil {
		return "", false
	}
	if b.path == routeEvents {
		return "", true
	}
	ofRun, ok := strings.CutPrefix(b.path, "/v1/runs/")
	if !ok {
		return "", false
	}
	runID, ok = strings.CutSuffix(ofRun, "/events")
	return runID, ok && validID(runID)
}

// serveBundledEvent does for an event of a bundle what the routes do for one by itself. Most calls
// are events, and a request for each of them, with its header, its address and its way through the
// router, cost the service more than reading and checking the event did.
func (s *Server) serveBundledEvent(ctx context.Context, call *bundledCall, runID string, answer *bundledAnswer) {
	start := time.Now()
	at := origin{ctx: ctx, method: http.MethodPost, route: routeRunEvents}
	if runID == "" {
		at.route = routeEvents
	}
	defer func() { s.note(at, answer.status, int64(len(answer.body)), time.Since(start)) }()
	answer.status = http.StatusOK
	var err error
	if at.request, err = s.callID(call.key); err == nil {
		err = s.answerBundledEvent(at, call, runID, answer)
	}
	if err != nil {
		s.refuseBundled(err, at, answer)
	}
}

func (s *Server) answerBundledEvent(at origin, call *bundledCall, runID string, answer *bundledAnswer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(r, false)
		}
	}()
	body, err := s.codec.item(call.body)
	if err != nil {
		return err
	}
	result, err := s.makeEvent(at.ctx, runID, at.request, body)
	if err != nil {
		return err
	}
	answer.lent = borrowEncoder()
	writeResult(answer.lent, &result)
	answer.body = answer.lent.bytes
	return nil
}

// refuseBundled is handleError for a call without a request of its own.
func (s *Server) refuseBundled(err error, at origin, answer *bundledAnswer) {
	refusal := s.refusalOf(err, at)
	status, name := wireForm(refusal.Code)
	if refusal.RetryAfter > 0 {
		answer.Header().Set(echo.HeaderRetryAfter, strconv.Itoa(refusal.RetryAfter))
	}
	answer.status, answer.body = status, encodeError(refusal, status, name)
}

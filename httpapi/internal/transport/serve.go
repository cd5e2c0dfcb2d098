// Package transport serves calls of any transport: each one gets an id and an answer, is counted and logged.
package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/world-redis/world-redis"
)

// Call is one call as its transport sees it: an HTTP request, or a part of a bundle.
type Call interface {
	// Admit returns an error if the service is too busy for the call.
	Admit() error
	// Key returns the Idempotency-Key that the caller sent, "" if it sent none.
	Key() string
	// Identified is called with the id of the call.
	Identified(id string)
	// Make makes the call and answers it; Refuse answers it with an error.
	Make(ctx context.Context) error
	Refuse(ctx context.Context, err error)
	// Begun reports whether a part of the answer has been sent.
	Begun() bool
	// Origin returns what identifies the call in the log, and Answered how it was answered.
	Origin() Origin
	Answered() (status int, bytes int64)
}

// Calls is what the calls of all transports and namespaces share.
type Calls struct {
	Log          *slog.Logger
	Observe      func(method, route string, status int, took time.Duration)
	NewRequestID func() string
	Draining     chan struct{} // closed when the service begins to stop
}

// IsDraining reports whether the service has begun to stop.
func (s *Calls) IsDraining() bool {
	select {
	case <-s.Draining:
		return true
	default:
		return false
	}
}

// Serve makes a call of any transport. It does what all calls need: an id, an answer even after a panic,
// metrics and the log.
func (s *Calls) Serve(ctx context.Context, call Call) {
	start := time.Now()
	// Deferred, because a live read that is cut off ends with a panic.
	defer func() {
		status, bytes := call.Answered()
		s.Note(ctx, call.Origin(), status, bytes, time.Since(start))
	}()
	if err := s.recovered(ctx, call); err != nil {
		call.Refuse(ctx, err)
	}
}

// recovered makes a call, and returns the error for its answer; a panic is one, too. It passes http.ErrAbortHandler on, with which a
// handler has the connection cut.
func (s *Calls) recovered(ctx context.Context, call Call) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(r, call.Begun())
		}
	}()
	if err := call.Admit(); err != nil {
		return err
	}
	id, err := s.ID(call.Key())
	call.Identified(id)
	if err != nil {
		return err
	}
	return call.Make(ctx)
}

// Note counts and logs a call that has been answered.
func (s *Calls) Note(ctx context.Context, at Origin, status int, bytes int64, took time.Duration) {
	s.Observe(observedMethod(at.Method), at.Route, observedStatus(status), took)
	if !s.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	s.Log.LogAttrs(ctx, slog.LevelDebug, "request",
		slog.String("method", at.Method),
		slog.String("route", at.Route),
		slog.Int("status", status),
		slog.Int64("bytes", bytes),
		slog.Duration("took", took),
		slog.String("request", at.Request),
	)
}

// MethodMessage is the method under which messages of call sockets are counted. The socket itself counts as a GET when it ends.
const MethodMessage = "WEBSOCKET"

// otherMethod replaces methods that HTTP does not define.
const otherMethod = "OTHER"

// observedMethod returns the method with which Observe is called. A caller may send any word as a method, and each
// would create a metric series that is never removed.
func observedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace, MethodMessage:
		return method
	default:
		return otherMethod
	}
}

// observedStatus returns the status with which Observe is called: 0 for a status that HTTP does not define, which an app
// may answer to a webhook.
func observedStatus(status int) int {
	if http.StatusText(status) == "" {
		return 0
	}
	return status
}

// panicked returns the error for a panic. halfSent says that a part of the answer has been sent.
func (s *Calls) panicked(r any, halfSent bool) error {
	if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(r)
	}
	s.Log.Error("a handler panicked", slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
	if halfSent {
		// The client notices a partial answer only if the connection is cut.
		panic(http.ErrAbortHandler)
	}
	return world.Wrap(world.CodeInternal, fmt.Errorf("panic: %v", r), "panic")
}

// HeaderIdempotencyKey identifies a call; a repeat has the same value.
const HeaderIdempotencyKey = "Idempotency-Key"

// MaxIdempotencyKey is the largest number of characters of an Idempotency-Key.
const MaxIdempotencyKey = 128

// ID returns the id of a call with this Idempotency-Key. It also returns one with an error, for the log.
func (s *Calls) ID(key string) (string, error) {
	switch {
	case key == "":
		return s.NewRequestID(), nil
	case len(key) > MaxIdempotencyKey || !visibleASCII(key):
		return s.NewRequestID(), world.Errorf(world.CodeInvalid, "%s must be at most %d visible ASCII characters", HeaderIdempotencyKey, MaxIdempotencyKey)
	default:
		return key, nil
	}
}

func visibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

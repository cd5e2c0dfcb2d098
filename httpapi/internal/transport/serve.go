// Package transport serves calls, whatever carries them: each has an id, is answered whatever happens, is counted and logged.
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

// Call is one call as what carries it knows it: a request of HTTP, or a part of a bundle.
type Call interface {
	// Admit refuses a call that there is no place for.
	Admit() error
	// Key returns the Idempotency-Key that the caller sent, "" if it sent none.
	Key() string
	// Identified is called with the id of the call.
	Identified(id string)
	// Make makes the call and answers it; refuse answers it with an error.
	Make(ctx context.Context) error
	Refuse(ctx context.Context, err error)
	// Begun reports whether a part of the answer is out.
	Begun() bool
	// Origin says which call it is, and answered how it was answered.
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

// Serve makes a call of any transport. What holds for every call is done here: it has an id, it is answered whatever happens,
// and it is counted and logged.
func (s *Calls) Serve(ctx context.Context, call Call) {
	start := time.Now()
	// Deferred, because a live read that is cut leaves by a panic.
	defer func() {
		status, bytes := call.Answered()
		s.Note(ctx, call.Origin(), status, bytes, time.Since(start))
	}()
	if err := s.made(ctx, call); err != nil {
		call.Refuse(ctx, err)
	}
}

// made makes a call, and returns the error that it is to be answered with, also for a panic. http.ErrAbortHandler goes on: it is
// how a handler asks for the connection to be cut.
func (s *Calls) made(ctx context.Context, call Call) (err error) {
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

// Note tells the metrics and the log of a call that has been answered.
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

// MethodMessage is what messages of call sockets are counted under; the socket itself counts as a GET when it ends.
const MethodMessage = "WEBSOCKET"

// otherMethod stands for every method that HTTP does not define.
const otherMethod = "OTHER"

// observedMethod is the method that [Config.Observe] is called with. A caller may send any word as a method, and each
// would become a metric series that is never freed.
func observedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace, MethodMessage:
		return method
	default:
		return otherMethod
	}
}

// observedStatus is the status that [Config.Observe] is called with: 0 for those that HTTP does not define, which an app
// may answer to a webhook.
func observedStatus(status int) int {
	if http.StatusText(status) == "" {
		return 0
	}
	return status
}

// panicked is the error that stands for a panic. halfSent says that a part of the answer is out.
func (s *Calls) panicked(r any, halfSent bool) error {
	if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(r)
	}
	s.Log.Error("a handler panicked", slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
	if halfSent {
		// Only a cut tells the client that it is half.
		panic(http.ErrAbortHandler)
	}
	return world.Wrap(world.CodeInternal, fmt.Errorf("panic: %v", r), "panic")
}

// HeaderIdempotencyKey names a call: its repeat has the same.
const HeaderIdempotencyKey = "Idempotency-Key"

// MaxIdempotencyKey is how many characters an Idempotency-Key may have.
const MaxIdempotencyKey = 128

// ID is the id of a call with this Idempotency-Key; a call that is refused for it has one, too.
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

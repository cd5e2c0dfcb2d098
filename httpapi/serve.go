package httpapi

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

// transport is one call as what carries it knows it: a request of HTTP, or a part of a bundle.
type transport interface {
	// admit refuses a call that there is no place for.
	admit() error
	// key returns the Idempotency-Key that the caller sent, "" if it sent none.
	key() string
	// identified is called with the id of the call.
	identified(id string)
	// make makes the call and answers it; refuse answers it with an error.
	make(ctx context.Context) error
	refuse(ctx context.Context, err error)
	// begun reports whether a part of the answer is out.
	begun() bool
	// origin says which call it is, and answered how it was answered.
	origin() origin
	answered() (status int, bytes int64)
}

// serve makes a call of any transport. What holds for every call is done here: it has an id, it is answered whatever happens,
// and it is counted and logged.
func (s *shared) serve(ctx context.Context, call transport) {
	start := time.Now()
	// Deferred, because a live read that is cut leaves by a panic.
	defer func() {
		status, bytes := call.answered()
		s.note(ctx, call.origin(), status, bytes, time.Since(start))
	}()
	if err := s.made(ctx, call); err != nil {
		call.refuse(ctx, err)
	}
}

// made makes a call, and returns the error that it is to be answered with, also for a panic. http.ErrAbortHandler goes on: it is
// how a handler asks for the connection to be cut.
func (s *shared) made(ctx context.Context, call transport) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(r, call.begun())
		}
	}()
	if err := call.admit(); err != nil {
		return err
	}
	id, err := s.callID(call.key())
	call.identified(id)
	if err != nil {
		return err
	}
	return call.make(ctx)
}

// note tells the metrics and the log of a call that has been answered.
func (s *shared) note(ctx context.Context, at origin, status int, bytes int64, took time.Duration) {
	s.observe(observedMethod(at.method), at.route, observedStatus(status), took)
	if !s.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	s.log.LogAttrs(ctx, slog.LevelDebug, "request",
		slog.String("method", at.method),
		slog.String("route", at.route),
		slog.Int("status", status),
		slog.Int64("bytes", bytes),
		slog.Duration("took", took),
		slog.String("request", at.request),
	)
}

// otherMethod stands for every method that HTTP does not define.
const otherMethod = "OTHER"

// observedMethod is the method that [Config.Observe] is called with. A caller may send any word as a method, and each
// would become a metric series that is never freed.
func observedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace, methodMessage:
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
func (s *shared) panicked(r any, halfSent bool) error {
	if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(r)
	}
	s.log.Error("a handler panicked", slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
	if halfSent {
		// Only a cut tells the client that it is half.
		panic(http.ErrAbortHandler)
	}
	return world.Wrap(world.CodeInternal, fmt.Errorf("panic: %v", r), "panic")
}

// maxIdempotencyKey is how many characters an Idempotency-Key may have.
const maxIdempotencyKey = 128

// callID is the id of a call with this Idempotency-Key; a call that is refused for it has one, too.
func (s *shared) callID(key string) (string, error) {
	switch {
	case key == "":
		return s.newRequestID(), nil
	case len(key) > maxIdempotencyKey || !visibleASCII(key):
		return s.newRequestID(), world.Errorf(world.CodeInvalid, "%s must be at most %d visible ASCII characters", headerIdempotencyKey, maxIdempotencyKey)
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

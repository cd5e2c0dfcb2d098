package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	headerIdempotencyKey = "Idempotency-Key"
	maxIdempotencyKey    = 128 // characters
	contextRequestID     = "requestID"
)

// routeByEscapedPath makes the router see every path as it was sent. Without it Go keeps
// the escaped form only of some paths, and a parameter could not be decoded exactly once.
func routeByEscapedPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		u.RawPath = u.EscapedPath()
		return next(c)
	}
}

// observe answers errors and panics, and writes the access line.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		c.Response().Header().Set("X-Content-Type-Options", "nosniff")
		// Deferred, because a live read that is cut leaves by a panic.
		defer func() { s.note(originOf(c), c.Response().Status, c.Response().Size, time.Since(start)) }()
		if err := s.recovered(next, c); err != nil {
			c.Error(err)
		}
		return nil
	}
}

// note tells the metrics and the log of a call that has been answered.
func (s *Server) note(at origin, status int, bytes int64, took time.Duration) {
	s.deps.Observe(observedMethod(at.method), at.route, observedStatus(status), took)
	if !s.log.Enabled(at.ctx, slog.LevelDebug) {
		return
	}
	s.log.LogAttrs(at.ctx, slog.LevelDebug, "request",
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

// observedMethod is the method that [Deps.Observe] is called with. A caller may send any word as a method, and each
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

// observedStatus is the status that [Deps.Observe] is called with: 0 for those that HTTP does not define, which an app
// may answer to a webhook.
func observedStatus(status int) int {
	if http.StatusText(status) == "" {
		return 0
	}
	return status
}

// recovered turns a panic into an error. http.ErrAbortHandler goes on: it is how a
// handler asks for the connection to be cut.
func (s *Server) recovered(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(r, c.Response().Committed)
		}
	}()
	return next(c)
}

// panicked is the error that stands for a panic. halfSent says that a part of the answer is out.
func (s *Server) panicked(r any, halfSent bool) error {
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

// identify gives the call its id: the client's Idempotency-Key or one of our own.
func (s *Server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key := ""
		if c.Request().Method == http.MethodPost {
			key = c.Request().Header.Get(headerIdempotencyKey)
		}
		id, err := s.callID(key)
		c.Set(contextRequestID, id)
		if err != nil {
			return err
		}
		return next(c)
	}
}

// callID is the id of a call with this Idempotency-Key; a call that is refused for it has one, too.
func (s *Server) callID(key string) (string, error) {
	switch {
	case key == "":
		return s.deps.NewRequestID(), nil
	case len(key) > maxIdempotencyKey || !visibleASCII(key):
		return s.deps.NewRequestID(), world.Errorf(world.CodeInvalid, "%s must be at most %d visible ASCII characters", headerIdempotencyKey, maxIdempotencyKey)
	default:
		return key, nil
	}
}

func requestID(c echo.Context) string {
	id, _ := c.Get(contextRequestID).(string)
	return id
}

func visibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

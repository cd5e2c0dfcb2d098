package httpapi

import (
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
		defer func() { s.noteRequest(c, time.Since(start)) }()
		if err := s.recovered(next, c); err != nil {
			c.Error(err)
		}
		return nil
	}
}

func (s *Server) noteRequest(c echo.Context, took time.Duration) {
	s.deps.Observe(c.Request().Method, c.Path(), c.Response().Status, took)
	s.log.LogAttrs(c.Request().Context(), slog.LevelDebug, "request",
		slog.String("method", c.Request().Method),
		slog.String("route", c.Path()),
		slog.Int("status", c.Response().Status),
		slog.Int64("bytes", c.Response().Size),
		slog.Duration("took", took),
		slog.String("request", requestID(c)),
	)
}

// recovered turns a panic into an error. http.ErrAbortHandler goes on: it is how a
// handler asks for the connection to be cut.
func (s *Server) recovered(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case http.ErrAbortHandler:
			panic(r)
		default:
			s.log.Error("a handler panicked", slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
			if c.Response().Committed {
				// Half an answer is out; only a cut tells the client that it is half.
				panic(http.ErrAbortHandler)
			}
			err = world.Wrap(world.CodeInternal, fmt.Errorf("panic: %v", r), "panic")
		}
	}()
	return next(c)
}

// identify gives the call its id: the client's Idempotency-Key or one of our own.
func (s *Server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(headerIdempotencyKey)
		if id == "" || c.Request().Method != http.MethodPost {
			c.Set(contextRequestID, s.deps.NewRequestID())
			return next(c)
		}
		if len(id) > maxIdempotencyKey || !visibleASCII(id) {
			c.Set(contextRequestID, s.deps.NewRequestID())
			return world.Errorf(world.CodeInvalid, "%s must be at most %d visible ASCII characters", headerIdempotencyKey, maxIdempotencyKey)
		}
		c.Set(contextRequestID, id)
		return next(c)
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

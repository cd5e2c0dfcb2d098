package transport

import (
	"context"
	"errors"
	"log/slog"

	"github.com/world-redis/world-redis"
)

// Origin identifies the call of an error or a log line.
type Origin struct{ Method, Route, Request string }

// Refusal returns the error for the caller. Errors without a code are internal: they are logged, and the caller
// gets the id of the log line.
func (s *Calls) Refusal(ctx context.Context, err error, at Origin) world.Error {
	var refusal *world.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code != world.CodeInternal:
	case ctx.Err() != nil:
		// The caller is gone or the service stops, so there is nothing to log.
		refusal = world.Errorf(world.CodeUnavailable, "the request was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		refusal = world.Errorf(world.CodeUnavailable, "the service could not finish in time; try again")
		s.LogFailure(ctx, at, "a request ran out of time", slog.LevelWarn, err)
	default:
		refusal = world.Errorf(world.CodeInternal, "internal error, see the service's log, request %s", at.Request)
		s.LogFailure(ctx, at, "internal error", slog.LevelError, err)
	}
	out := *refusal
	switch out.Code {
	case world.CodeUnavailable, world.CodeTooEarly, world.CodeThrottled, world.CodeOverBudget:
		out.RetryAfter = max(1, out.RetryAfter)
	default:
		out.RetryAfter = 0
	}
	return out
}

// LogFailure logs a call that failed.
func (s *Calls) LogFailure(ctx context.Context, at Origin, what string, level slog.Level, err error) {
	s.Log.LogAttrs(ctx, level, what,
		slog.String("request", at.Request),
		slog.String("method", at.Method),
		slog.String("route", at.Route),
		slog.String("error", err.Error()),
	)
}

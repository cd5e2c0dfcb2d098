package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// handleError is the only place that answers with an error.
func (s *shared) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		s.log.Error("an error after the answer began", slog.String("route", c.Path()), slog.String("error", err.Error()))
		return
	}
	badMethod := isMethodError(err)
	var routing *echo.HTTPError
	if errors.As(err, &routing) {
		err = s.routingRefusal(routing, c)
	}
	refusal := s.refusalOf(c.Request().Context(), err, originOf(c))
	status, name := refuse.WireForm(refusal.Code)
	if badMethod {
		status = http.StatusMethodNotAllowed
	}
	if refusal.RetryAfter > 0 {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(refusal.RetryAfter))
	}
	if c.Request().Method == http.MethodHead {
		err = c.NoContent(status)
	} else {
		err = s.Answer(c, status, refuse.Encode(refusal, status, name))
	}
	if err != nil {
		s.log.Debug("an error could not be sent", slog.String("error", err.Error()))
	}
}

// origin is the call that an error or a line of the log is about.
type origin struct{ method, route, request string }

// refusalOf finds what to tell the caller. What is not a refusal of ours goes to the log,
// and the caller learns under which id.
func (s *shared) refusalOf(ctx context.Context, err error, at origin) world.Error {
	var refusal *world.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code != world.CodeInternal:
	case ctx.Err() != nil:
		// The caller is gone or the service stops: nobody's fault, nothing to log.
		refusal = world.Errorf(world.CodeUnavailable, "the request was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		refusal = world.Errorf(world.CodeUnavailable, "the service could not finish in time; try again")
		s.logFailure(ctx, at, "a request ran out of time", slog.LevelWarn, err)
	default:
		refusal = world.Errorf(world.CodeInternal, "internal error, see the service's log, request %s", at.request)
		s.logFailure(ctx, at, "internal error", slog.LevelError, err)
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

func (s *shared) routingRefusal(routing *echo.HTTPError, c echo.Context) *world.Error {
	r := c.Request()
	switch routing.Code {
	case http.StatusNotFound:
		return world.Errorf(world.CodeNotFound, "there is no route %s %s", r.Method, r.URL.EscapedPath())
	case http.StatusMethodNotAllowed:
		return world.Errorf(world.CodeNotFound, "%s has no method %s", r.URL.EscapedPath(), r.Method)
	default:
		return world.Errorf(world.CodeInvalid, "%v", routing.Message)
	}
}

func isMethodError(err error) bool {
	var routing *echo.HTTPError
	return errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed
}

func (s *shared) logFailure(ctx context.Context, at origin, what string, level slog.Level, err error) {
	s.log.LogAttrs(ctx, level, what,
		slog.String("request", at.request),
		slog.String("method", at.method),
		slog.String("route", at.route),
		slog.String("error", err.Error()),
	)
}

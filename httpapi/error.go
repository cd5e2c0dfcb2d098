package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// The codes that only HTTP has.
const (
	codeUnsupportedMedia world.Code = "unsupported_media_type" // a body in an encoding that we do not read
	codeForbidden        world.Code = "forbidden"              // a Host that only a token would allow
)

// wireForm is the one table from codes to HTTP statuses and the SDK's error classes.
func wireForm(code world.Code) (status int, name string) {
	const general = "WorkflowWorldError"
	switch code {
	case world.CodeRunNotFound:
		return http.StatusNotFound, "WorkflowRunNotFoundError"
	case world.CodeHookNotFound:
		return http.StatusNotFound, "HookNotFoundError"
	case world.CodeStepNotFound, world.CodeWaitNotFound, world.CodeEventNotFound, world.CodeNotFound:
		return http.StatusNotFound, general
	case world.CodeConflict:
		return http.StatusConflict, "EntityConflictError"
	case world.CodeStreamClosed:
		return http.StatusConflict, general
	case world.CodeRunExpired:
		return http.StatusGone, "RunExpiredError"
	case world.CodePrecondition:
		return http.StatusPreconditionFailed, "PreconditionFailedError"
	case world.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, general
	case codeUnsupportedMedia:
		return http.StatusUnsupportedMediaType, general
	case world.CodeRunNotSupported:
		return http.StatusUnprocessableEntity, "RunNotSupportedError"
	case world.CodeTooEarly:
		return http.StatusTooEarly, "TooEarlyError"
	case world.CodeThrottled, world.CodeOverBudget:
		return http.StatusTooManyRequests, "ThrottleError"
	case world.CodeInvalid, world.CodeRepeatedID:
		return http.StatusBadRequest, general
	case world.CodeAttributeInvalid:
		return http.StatusBadRequest, "AttributeValidationError"
	case world.CodeUnauthorized:
		return http.StatusUnauthorized, general
	case codeForbidden:
		return http.StatusForbidden, general
	case world.CodeUnavailable:
		return http.StatusServiceUnavailable, general
	case world.CodeLoopDetected:
		return http.StatusLoopDetected, general
	case world.CodeInternal:
		return http.StatusInternalServerError, general
	default:
		return http.StatusInternalServerError, general
	}
}

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
	status, name := wireForm(refusal.Code)
	if badMethod {
		status = http.StatusMethodNotAllowed
	}
	if refusal.RetryAfter > 0 {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(refusal.RetryAfter))
	}
	if c.Request().Method == http.MethodHead {
		err = c.NoContent(status)
	} else {
		err = s.answer(c, status, encodeError(refusal, status, name))
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

func encodeError(e world.Error, status int, name string) []byte {
	enc := wire.NewEncoder(256)
	body := enc.Object()
	body.Key("error")
	o := enc.Object()
	o.Text("name", name)
	o.Text("message", e.Message)
	o.Whole("status", int64(status))
	o.Text("code", string(e.Code))
	if e.RetryAfter > 0 {
		o.Whole("retryAfter", int64(e.RetryAfter))
	}
	o.OptionalText("runId", e.RunID)
	o.OptionalText("token", e.Token)
	if e.Code == world.CodeRunNotSupported {
		o.Whole("runSpecVersion", int64(e.RunSpec))
		o.Whole("worldSpecVersion", int64(e.WorldSpec))
	}
	o.End()
	body.End()
	return enc.Bytes
}

// invalid is the refusal of bad input.
func invalid(format string, args ...any) error {
	return world.Errorf(world.CodeInvalid, "%s", fmt.Sprintf(format, args...))
}

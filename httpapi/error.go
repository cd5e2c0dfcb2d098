package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// handleError answers an HTTP request with an error.
func (s *shared) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		s.Log.Error("a call failed after its answer began", slog.String("route", c.Path()), slog.String("error", err.Error()))
		return
	}
	badMethod := isMethodError(err)
	var routing *echo.HTTPError
	if errors.As(err, &routing) {
		err = s.routingRefusal(routing, c)
	}
	refusal := s.Refusal(c.Request().Context(), err, originOf(c))
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
		s.Log.Debug("an error could not be sent", slog.String("error", err.Error()))
	}
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

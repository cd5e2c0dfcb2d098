package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// healthz answers whatever the state of Redis.
func (s *Server) healthz(c echo.Context) error { return s.answerStatus(c, "ok") }

// readyz says whether to send requests to this replica.
func (s *Server) readyz(c echo.Context) error {
	if s.IsDraining() {
		return world.Errorf(world.CodeUnavailable, "the service is shutting down")
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
	defer cancel()
	if err := s.cfg.Ready(ctx); err != nil {
		var refusal *world.Error
		if errors.As(err, &refusal) {
			return world.Wrap(world.CodeUnavailable, err, refusal.Message)
		}
		return world.Wrap(world.CodeUnavailable, err, err.Error())
	}
	return s.answerStatus(c, "ready")
}

func (s *Server) answerStatus(c echo.Context, status string) error {
	e := wire.NewEncoder(32)
	o := e.Object()
	o.Text("status", status)
	o.End()
	return s.Answer(c, http.StatusOK, e.Bytes)
}

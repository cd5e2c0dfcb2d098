package httpapi

import (
	"context"
	"errors"

	"github.com/world-redis/world-redis"
)

// healthz says that the process answers, whatever Redis does.
func (s *Server) healthz(context.Context, nothing) (string, error) { return "ok", nil }

// readyz says whether to send work here.
func (s *Server) readyz(ctx context.Context, _ nothing) (string, error) {
	if s.isDraining() {
		return "", world.Errorf(world.CodeUnavailable, "the service is shutting down")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.deps.Ready(ctx); err != nil {
		var refusal *world.Error
		if errors.As(err, &refusal) {
			return "", world.Wrap(world.CodeUnavailable, err, refusal.Message)
		}
		return "", world.Wrap(world.CodeUnavailable, err, err.Error())
	}
	return "ready", nil
}

func encodeStatus(e *encoder, status string) {
	o := e.object()
	o.text("status", status)
	o.end()
}

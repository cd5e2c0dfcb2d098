package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
)

func (s *Server) wakeRun(ctx context.Context, runID string) (world.RunWake, error) {
	if s.deps.Waker == nil {
		return world.RunWake{}, world.Errorf(world.CodeNotFound, "this service does not wake runs on request")
	}
	woken, err := s.deps.Waker.WakeRun(ctx, runID)
	woken.Run.RunID = runID
	return woken, err
}

func encodeWoken(e *encoder, woken world.RunWake) {
	o := e.object()
	o.text("runId", woken.Run.RunID)
	o.text("messageId", woken.MessageID)
	o.text("status", string(woken.Run.Status))
	o.text("workflowName", woken.Run.WorkflowName)
	o.text("deploymentId", woken.Run.DeploymentID)
	o.end()
}

package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
)

func (a *api) wakeRun(ctx context.Context, runID string) (world.RunWake, error) {
	if a.deps.Waker == nil {
		return world.RunWake{}, world.Errorf(world.CodeNotFound, "this service does not wake runs on request")
	}
	woken, err := a.deps.Waker.WakeRun(ctx, runID)
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

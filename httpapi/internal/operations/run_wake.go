package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *API) wakeRun(ctx context.Context, runID string) (world.RunWake, error) {
	if a.Deps.Waker == nil {
		return world.RunWake{}, world.Errorf(world.CodeNotFound, "this service does not wake runs on request")
	}
	woken, err := a.Deps.Waker.WakeRun(ctx, runID)
	woken.Run.RunID = runID
	return woken, err
}

func encodeWoken(e *wire.Encoder, woken world.RunWake) {
	o := e.Object()
	o.Text("runId", woken.Run.RunID)
	o.Text("messageId", woken.MessageID)
	o.Text("status", string(woken.Run.Status))
	o.Text("workflowName", woken.Run.WorkflowName)
	o.Text("deploymentId", woken.Run.DeploymentID)
	o.End()
}

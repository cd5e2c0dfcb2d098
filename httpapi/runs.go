package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
)

func (a *api) getRun(ctx context.Context, ref entityRef) (world.Run, error) {
	return a.deps.Store.GetRun(ctx, ref.id, ref.none)
}

func decodeRuns(r *request) (world.RunQuery, error) {
	want := world.RunQuery{Page: r.page(), ResolveNone: r.resolveNone(), WorkflowName: r.query().Get("workflowName")}
	if len(want.WorkflowName) > maxName {
		r.fail(invalid("workflowName has %d bytes, the limit is %d", len(want.WorkflowName), maxName))
	}
	var err error
	if want.Statuses, want.NoMatch, err = statuses(r.query()["status"]); err != nil {
		r.fail(err)
	}
	return want, r.err
}

// statuses reads the repeated status parameter. An empty one stands for an empty list,
// which nothing matches.
func statuses(given []string) (wanted []world.RunStatus, noMatch bool, err error) {
	for _, text := range given {
		switch status := world.RunStatus(text); status {
		case world.RunPending, world.RunRunning, world.RunCompleted, world.RunFailed, world.RunCancelled, world.RunPaused:
			wanted = append(wanted, status)
		case "":
		default:
			return nil, false, invalid("status must be pending, running, completed, failed, cancelled or paused, not %.100q", text)
		}
	}
	return wanted, len(given) > 0 && len(wanted) == 0, nil
}

func runSize(r *world.Run) int {
	return 512 + len(r.WorkflowName) + len(r.DeploymentID) + len(r.ExecutionContext) +
		len(r.Input) + len(r.Output) + len(r.Error) + len(r.Attributes)
}

func encodeRun(e *encoder, r world.Run) {
	e.grow(runSize(&r) + 128)
	writeRun(e, &r)
}

func writeRun(e *encoder, r *world.Run) {
	o := e.object()
	o.text("runId", r.RunID)
	o.text("status", string(r.Status))
	o.text("deploymentId", r.DeploymentID)
	o.text("workflowName", r.WorkflowName)
	o.optionalWhole("specVersion", r.SpecVersion)
	o.optionalRaw("executionContext", r.ExecutionContext)
	o.optionalRaw("input", r.Input)
	o.optionalRaw("output", r.Output)
	o.optionalRaw("error", r.Error)
	o.optionalText("errorCode", r.ErrorCode)
	o.optionalRaw("attributes", r.Attributes)
	o.optionalText("encryptionPublicKey", r.EncryptionPublicKey)
	o.whole("createdAt", int64(r.CreatedAt))
	o.whole("updatedAt", int64(r.UpdatedAt))
	o.optionalMillis("startedAt", r.StartedAt)
	o.optionalMillis("completedAt", r.CompletedAt)
	o.optionalMillis("expiredAt", r.ExpiredAt)
	o.end()
}

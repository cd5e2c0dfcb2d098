package wire

import "github.com/world-redis/world-redis"

// RunSize estimates the size of a run, in bytes.
func RunSize(r *world.Run) int {
	return 512 + len(r.WorkflowName) + len(r.DeploymentID) + len(r.ExecutionContext) +
		len(r.Input) + len(r.Output) + len(r.Error) + len(r.Attributes)
}

// Run writes a run.
func Run(e *Encoder, r *world.Run) {
	o := e.Object()
	o.Text("runId", r.RunID)
	o.Text("status", string(r.Status))
	o.Text("deploymentId", r.DeploymentID)
	o.Text("workflowName", r.WorkflowName)
	o.OptionalWhole("specVersion", r.SpecVersion)
	o.OptionalRaw("executionContext", r.ExecutionContext)
	o.OptionalRaw("input", r.Input)
	o.OptionalRaw("output", r.Output)
	o.OptionalRaw("error", r.Error)
	o.OptionalText("errorCode", r.ErrorCode)
	o.OptionalRaw("attributes", r.Attributes)
	o.OptionalText("encryptionPublicKey", r.EncryptionPublicKey)
	o.Whole("createdAt", int64(r.CreatedAt))
	o.Whole("updatedAt", int64(r.UpdatedAt))
	o.OptionalMillis("startedAt", r.StartedAt)
	o.OptionalMillis("completedAt", r.CompletedAt)
	o.OptionalMillis("expiredAt", r.ExpiredAt)
	o.End()
}

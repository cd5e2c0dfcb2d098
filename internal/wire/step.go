package wire

import "github.com/world-redis/world-redis"

// StepSize estimates the size of a step, in bytes.
func StepSize(t *world.Step) int {
	return 384 + len(t.StepName) + len(t.Input) + len(t.Output) + len(t.Error)
}

// Step writes a step.
func Step(e *Encoder, t *world.Step) {
	o := e.Object()
	o.Text("runId", t.RunID)
	o.Text("stepId", t.StepID)
	o.Text("stepName", t.StepName)
	o.Text("status", string(t.Status))
	o.OptionalRaw("input", t.Input)
	o.OptionalRaw("output", t.Output)
	o.OptionalRaw("error", t.Error)
	o.Whole("attempt", int64(t.Attempt))
	o.OptionalWhole("specVersion", t.SpecVersion)
	o.Whole("createdAt", int64(t.CreatedAt))
	o.Whole("updatedAt", int64(t.UpdatedAt))
	o.OptionalMillis("startedAt", t.StartedAt)
	o.OptionalMillis("completedAt", t.CompletedAt)
	o.OptionalMillis("retryAfter", t.RetryAfter)
	o.End()
}

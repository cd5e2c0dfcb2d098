package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
)

func (a *api) getStep(ctx context.Context, ref entityRef) (world.Step, error) {
	return a.deps.Store.GetStep(ctx, ref.runID, ref.id, ref.none)
}

func decodeSteps(r *request) (world.StepQuery, error) {
	want := world.StepQuery{RunID: r.pathID("runId"), Page: r.page(), ResolveNone: r.resolveNone()}
	return want, r.err
}

func stepSize(t *world.Step) int {
	return 384 + len(t.StepName) + len(t.Input) + len(t.Output) + len(t.Error)
}

func encodeStep(e *encoder, t world.Step) {
	e.grow(stepSize(&t) + 128)
	writeStep(e, &t)
}

func writeStep(e *encoder, t *world.Step) {
	o := e.object()
	o.text("runId", t.RunID)
	o.text("stepId", t.StepID)
	o.text("stepName", t.StepName)
	o.text("status", string(t.Status))
	o.optionalRaw("input", t.Input)
	o.optionalRaw("output", t.Output)
	o.optionalRaw("error", t.Error)
	o.whole("attempt", int64(t.Attempt))
	o.optionalWhole("specVersion", t.SpecVersion)
	o.whole("createdAt", int64(t.CreatedAt))
	o.whole("updatedAt", int64(t.UpdatedAt))
	o.optionalMillis("startedAt", t.StartedAt)
	o.optionalMillis("completedAt", t.CompletedAt)
	o.optionalMillis("retryAfter", t.RetryAfter)
	o.end()
}

package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// The calls of SDKs from before event sourcing (contract §9). Their payloads are plain JSON
// values, which are passed on unchanged as all payloads are.

func decodeLegacyRun(r *input.Request) (world.CreateLegacyRun, error) {
	body := r.Object()
	req := world.CreateLegacyRun{
		DeploymentID: body.Required("deploymentId", input.MaxName), WorkflowName: body.Required("workflowName", input.MaxName),
		Input: body.Payload("input"), ExecutionContext: body.Mapping("executionContext"),
		RequestID: r.ID, ResolveNone: body.ResolveNone(),
	}
	return req, body.Err
}

func decodeLegacyRunUpdate(r *input.Request) (world.UpdateLegacyRun, error) {
	runID, body := r.PathID("runId"), r.Object()
	req := world.UpdateLegacyRun{
		RunID: runID, Status: world.RunStatus(body.Text("status", maxEventType)),
		Output: body.Get("output"), Error: legacyError(body, "error"), ExecutionContext: body.Mapping("executionContext"),
		RequestID: r.ID, ResolveNone: body.ResolveNone(),
	}
	return req, body.Err
}

// decodeLegacyMove reads a call that only sets a status. It may have no body.
func decodeLegacyMove(status world.RunStatus) func(*input.Request) (world.UpdateLegacyRun, error) {
	return func(r *input.Request) (world.UpdateLegacyRun, error) {
		req := world.UpdateLegacyRun{
			RunID: r.PathID("runId"), Status: status, Resume: status == world.RunRunning, RequestID: r.ID, ResolveNone: onlyResolveData(r),
		}
		return req, r.Err
	}
}

func (a *API) updateLegacyRun(ctx context.Context, req world.UpdateLegacyRun) (world.Run, error) {
	run, err := a.Deps.Store.UpdateLegacyRun(ctx, req)
	if err == nil && run.Status.Terminal() {
		a.runEnded(run.RunID)
	}
	return run, err
}

func decodeLegacyStep(r *input.Request) (world.CreateLegacyStep, error) {
	runID, body := r.PathID("runId"), r.Object()
	req := world.CreateLegacyStep{
		RunID: runID, StepID: body.ID("stepId"), StepName: body.Required("stepName", input.MaxName), Input: body.Payload("input"),
		RequestID: r.ID, ResolveNone: body.ResolveNone(),
	}
	if body.Err == nil && req.StepID == "" {
		body.Err = refuse.Invalid("body.stepId is missing")
	}
	return req, body.Err
}

func decodeLegacyStepUpdate(r *input.Request) (world.UpdateLegacyStep, error) {
	runID, stepID, body := r.PathID("runId"), r.PathID("stepId"), r.Object()
	req := world.UpdateLegacyStep{
		RunID: runID, StepID: stepID, Status: world.StepStatus(body.Text("status", maxEventType)),
		Output: body.Get("output"), Error: legacyError(body, "error"), RetryAfter: body.Millis("retryAfter"),
		RequestID: r.ID, ResolveNone: body.ResolveNone(),
	}
	if body.Get("attempt") != nil {
		attempt := body.Small("attempt")
		req.Attempt = &attempt
	}
	return req, body.Err
}

func decodeLegacyEvent(r *input.Request) (world.CreateLegacyEvent, error) {
	runID, body := r.PathID("runId"), r.Object()
	req := world.CreateLegacyEvent{
		RunID: runID, Type: world.EventType(body.Required("eventType", maxEventType)), CorrelationID: body.ID("correlationId"),
		RequestID: r.ID, ResolveNone: body.ResolveNone(),
	}
	data := body.Get("eventData")
	if body.Err != nil || data == nil {
		return req, body.Err
	}
	var err error
	if req.Data, err = input.EntriesOf("body.eventData", data); err != nil {
		return req, err
	}
	for i := range req.Data {
		if err := checkDatum(&req.Data[i]); err != nil {
			return req, err
		}
	}
	return req, nil
}

func decodeLegacyHook(r *input.Request) (world.CreateLegacyHook, error) {
	runID, body := r.PathID("runId"), r.Object()
	req := world.CreateLegacyHook{
		RunID: runID, HookID: body.ID("hookId"), Token: body.Required("token", world.MaxToken), Metadata: body.Get("metadata"),
		RequestID: r.ID, ResolveNone: body.ResolveNone(),
	}
	if body.Err == nil && req.HookID == "" {
		body.Err = refuse.Invalid("body.hookId is missing")
	}
	return req, body.Err
}

func decodeLegacyDispose(r *input.Request) (world.DisposeLegacyHook, error) {
	req := world.DisposeLegacyHook{HookID: r.PathID("hookId"), RequestID: r.ID, ResolveNone: onlyResolveData(r)}
	return req, r.Err
}

// onlyResolveData reads a body that has only resolveData, and may be missing.
func onlyResolveData(r *input.Request) (none bool) {
	if r.Err != nil || r.From.Missing() {
		return false
	}
	body := r.Object()
	none = body.ResolveNone()
	r.Err = body.Err
	return none
}

// legacyError returns an error as clients of spec version 1 write it, nil if absent.
func legacyError(o *input.Object, key string) world.Raw {
	item := o.Get(key)
	if item != nil && cboritem.MajorOf(item) != cboritem.MajorMap && cboritem.MajorOf(item) != cboritem.MajorText {
		o.Fail(key, "must be text or an object")
	}
	return item
}

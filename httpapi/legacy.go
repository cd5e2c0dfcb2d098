package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// The calls of SDKs from before event sourcing (contract §9). Their payloads are plain JSON
// values, and stay as they are like any other.

func decodeLegacyRun(r *request) (world.CreateLegacyRun, error) {
	body := r.object()
	req := world.CreateLegacyRun{
		DeploymentID: body.required("deploymentId", maxName), WorkflowName: body.required("workflowName", maxName),
		Input: body.payload("input"), ExecutionContext: body.mapping("executionContext"),
		RequestID: r.id, ResolveNone: body.resolveNone(),
	}
	return req, body.err
}

func decodeLegacyRunUpdate(r *request) (world.UpdateLegacyRun, error) {
	runID, body := r.pathID("runId"), r.object()
	req := world.UpdateLegacyRun{
		RunID: runID, Status: world.RunStatus(body.text("status", maxEventType)),
		Output: body.get("output"), Error: body.legacyError("error"), ExecutionContext: body.mapping("executionContext"),
		RequestID: r.id, ResolveNone: body.resolveNone(),
	}
	return req, body.err
}

// decodeLegacyMove reads a call that only sets a status; its body may be left out.
func decodeLegacyMove(status world.RunStatus) func(*request) (world.UpdateLegacyRun, error) {
	return func(r *request) (world.UpdateLegacyRun, error) {
		req := world.UpdateLegacyRun{
			RunID: r.pathID("runId"), Status: status, Resume: status == world.RunRunning, RequestID: r.id, ResolveNone: onlyResolveData(r),
		}
		return req, r.err
	}
}

func (a *api) updateLegacyRun(ctx context.Context, req world.UpdateLegacyRun) (world.Run, error) {
	run, err := a.deps.Store.UpdateLegacyRun(ctx, req)
	if err == nil && run.Status.Terminal() {
		a.runEnded(run.RunID)
	}
	return run, err
}

func decodeLegacyStep(r *request) (world.CreateLegacyStep, error) {
	runID, body := r.pathID("runId"), r.object()
	req := world.CreateLegacyStep{
		RunID: runID, StepID: body.id("stepId"), StepName: body.required("stepName", maxName), Input: body.payload("input"),
		RequestID: r.id, ResolveNone: body.resolveNone(),
	}
	if body.err == nil && req.StepID == "" {
		body.err = refuse.Invalid("body.stepId is missing")
	}
	return req, body.err
}

func decodeLegacyStepUpdate(r *request) (world.UpdateLegacyStep, error) {
	runID, stepID, body := r.pathID("runId"), r.pathID("stepId"), r.object()
	req := world.UpdateLegacyStep{
		RunID: runID, StepID: stepID, Status: world.StepStatus(body.text("status", maxEventType)),
		Output: body.get("output"), Error: body.legacyError("error"), RetryAfter: body.millis("retryAfter"),
		RequestID: r.id, ResolveNone: body.resolveNone(),
	}
	if body.get("attempt") != nil {
		attempt := body.small("attempt")
		req.Attempt = &attempt
	}
	return req, body.err
}

func decodeLegacyEvent(r *request) (world.CreateLegacyEvent, error) {
	runID, body := r.pathID("runId"), r.object()
	req := world.CreateLegacyEvent{
		RunID: runID, Type: world.EventType(body.required("eventType", maxEventType)), CorrelationID: body.id("correlationId"),
		RequestID: r.id, ResolveNone: body.resolveNone(),
	}
	data := body.get("eventData")
	if body.err != nil || data == nil {
		return req, body.err
	}
	var err error
	if req.Data, err = r.codec.entriesOf("body.eventData", data); err != nil {
		return req, err
	}
	for i := range req.Data {
		if err := checkDatum(&req.Data[i]); err != nil {
			return req, err
		}
	}
	return req, nil
}

func decodeLegacyHook(r *request) (world.CreateLegacyHook, error) {
	runID, body := r.pathID("runId"), r.object()
	req := world.CreateLegacyHook{
		RunID: runID, HookID: body.id("hookId"), Token: body.required("token", maxToken), Metadata: body.get("metadata"),
		RequestID: r.id, ResolveNone: body.resolveNone(),
	}
	if body.err == nil && req.HookID == "" {
		body.err = refuse.Invalid("body.hookId is missing")
	}
	return req, body.err
}

func decodeLegacyDispose(r *request) (world.DisposeLegacyHook, error) {
	req := world.DisposeLegacyHook{HookID: r.pathID("hookId"), RequestID: r.id, ResolveNone: onlyResolveData(r)}
	return req, r.err
}

// onlyResolveData reads a body that has nothing else to say and may be missing.
func onlyResolveData(r *request) (none bool) {
	if r.err != nil || r.from.missing() {
		return false
	}
	body := r.object()
	none = body.resolveNone()
	r.err = body.err
	return none
}

// required returns a text that must be there.
func (o *object) required(key string, limit int) string {
	s := o.text(key, limit)
	if s == "" && o.err == nil {
		o.err = refuse.Invalid("%s.%s is missing", o.path, key)
	}
	return s
}

// payload returns an item that must be there.
func (o *object) payload(key string) world.Raw {
	item := o.get(key)
	if item == nil && o.err == nil {
		o.err = refuse.Invalid("%s.%s is missing", o.path, key)
	}
	return item
}

// mapping returns a map as it is, nil when absent.
func (o *object) mapping(key string) world.Raw {
	item := o.get(key)
	if item != nil && cboritem.MajorOf(item) != cboritem.MajorMap {
		o.fail(key, "must be an object")
	}
	return item
}

// legacyError returns an error as clients of spec 1 write it, nil when absent.
func (o *object) legacyError(key string) world.Raw {
	item := o.get(key)
	if item != nil && cboritem.MajorOf(item) != cboritem.MajorMap && cboritem.MajorOf(item) != cboritem.MajorText {
		o.fail(key, "must be text or an object")
	}
	return item
}

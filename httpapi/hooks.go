package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *api) getHook(ctx context.Context, ref entityRef) (world.Hook, error) {
	return a.deps.Store.GetHook(ctx, ref.id, ref.none)
}

// decodeToken reads which hook is asked for by its token, which takes the place of the id.
func decodeToken(r *request) (entityRef, error) {
	ref := entityRef{none: r.resolveNone(), id: r.query().Get("token")}
	if r.err == nil {
		r.err = checkText("token", ref.id, maxToken)
	}
	return ref, r.err
}

func (a *api) getHookByToken(ctx context.Context, ref entityRef) (world.Hook, error) {
	return a.deps.Store.GetHookByToken(ctx, ref.id, ref.none)
}

func decodeHooks(r *request) (world.HookQuery, error) {
	want := world.HookQuery{Page: r.page(), ResolveNone: r.resolveNone(), RunID: r.queryID("runId")}
	return want, r.err
}

func encodeHook(e *wire.Encoder, h world.Hook) {
	e.Grow(wire.HookSize(&h) + 128)
	wire.Hook(e, &h)
}

func writeResumeContext(e *wire.Encoder, r *world.HookResume) {
	o := e.Object()
	o.Text("deploymentId", r.DeploymentID)
	o.Text("workflowName", r.WorkflowName)
	o.OptionalWhole("runSpecVersion", r.RunSpecVersion)
	o.OptionalText("workflowCoreVersion", r.WorkflowCoreVersion)
	o.OptionalRaw("traceCarrier", r.TraceCarrier)
	o.OptionalText("encryptionPublicKey", r.EncryptionPublicKey)
	o.OptionalWhole("hookResumeInputVersion", r.InputVersion)
	o.End()
}

// wire.Wait is here because waits have no route of their own.
func writeWait(e *wire.Encoder, w *world.Wait) {
	o := e.Object()
	o.Text("waitId", w.WaitID)
	o.Text("runId", w.RunID)
	o.Text("status", w.Status)
	o.OptionalMillis("resumeAt", w.ResumeAt)
	o.OptionalMillis("completedAt", w.CompletedAt)
	o.Whole("createdAt", int64(w.CreatedAt))
	o.Whole("updatedAt", int64(w.UpdatedAt))
	o.OptionalWhole("specVersion", w.SpecVersion)
	o.End()
}

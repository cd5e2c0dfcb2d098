package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
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

func hookSize(h *world.Hook) int {
	n := 384 + len(h.Token) + len(h.Metadata)
	if h.Resume != nil {
		n += 384 + len(h.Resume.TraceCarrier)
	}
	return n
}

func encodeHook(e *encoder, h world.Hook) {
	e.grow(hookSize(&h) + 128)
	writeHook(e, &h)
}

func writeHook(e *encoder, h *world.Hook) {
	o := e.object()
	o.text("runId", h.RunID)
	o.text("hookId", h.HookID)
	o.text("token", h.Token)
	// The SDK wants these three as text even where they mean nothing.
	o.text("ownerId", h.OwnerID)
	o.text("projectId", h.ProjectID)
	o.text("environment", h.Environment)
	o.optionalRaw("metadata", h.Metadata)
	o.flag("isWebhook", h.IsWebhook)
	if h.IsSystem {
		o.flag("isSystem", true)
	}
	o.optionalWhole("specVersion", h.SpecVersion)
	o.whole("createdAt", int64(h.CreatedAt))
	o.optionalMillis("tokenRetentionUntil", h.TokenRetentionUntil)
	if h.Resume != nil {
		o.key("resumeContext")
		writeResumeContext(e, h.Resume)
		o.key("resumeCapabilities")
		able := e.object()
		able.whole("hookResumeDedupVersion", int64(h.Resume.DedupVersion))
		able.end()
	}
	o.end()
}

func writeResumeContext(e *encoder, r *world.HookResume) {
	o := e.object()
	o.text("deploymentId", r.DeploymentID)
	o.text("workflowName", r.WorkflowName)
	o.optionalWhole("runSpecVersion", r.RunSpecVersion)
	o.optionalText("workflowCoreVersion", r.WorkflowCoreVersion)
	o.optionalRaw("traceCarrier", r.TraceCarrier)
	o.optionalText("encryptionPublicKey", r.EncryptionPublicKey)
	o.optionalWhole("hookResumeInputVersion", r.InputVersion)
	o.end()
}

// writeWait is here because waits have no route of their own.
func writeWait(e *encoder, w *world.Wait) {
	o := e.object()
	o.text("waitId", w.WaitID)
	o.text("runId", w.RunID)
	o.text("status", w.Status)
	o.optionalMillis("resumeAt", w.ResumeAt)
	o.optionalMillis("completedAt", w.CompletedAt)
	o.whole("createdAt", int64(w.CreatedAt))
	o.whole("updatedAt", int64(w.UpdatedAt))
	o.optionalWhole("specVersion", w.SpecVersion)
	o.end()
}

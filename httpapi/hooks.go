package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

func (s *Server) getHook(c echo.Context) error {
	hookID, err := pathID(c, "hookId")
	if err != nil {
		return err
	}
	_, none, err := getQuery(c)
	if err != nil {
		return err
	}
	hook, err := s.deps.Store.GetHook(c.Request().Context(), hookID, none)
	if err != nil {
		return err
	}
	return answerOne(s, c, &hook, hookSize(&hook), writeHook)
}

func (s *Server) getHookByToken(c echo.Context) error {
	q, none, err := getQuery(c)
	if err != nil {
		return err
	}
	token := q.values.Get("token")
	if err := checkText("token", token, maxToken); err != nil {
		return err
	}
	hook, err := s.deps.Store.GetHookByToken(c.Request().Context(), token, none)
	if err != nil {
		return err
	}
	return answerOne(s, c, &hook, hookSize(&hook), writeHook)
}

func (s *Server) listHooks(c echo.Context) error {
	q, page, none, err := listQuery(c)
	if err != nil {
		return err
	}
	runID, err := q.id("runId")
	if err != nil {
		return err
	}
	hooks, err := s.deps.Store.ListHooks(c.Request().Context(), world.HookQuery{RunID: runID, Page: page, ResolveNone: none})
	if err != nil {
		return err
	}
	return answerPage(s, c, hooks, sizes(hooks.Data, hookSize), writeHook)
}

func hookSize(h *world.Hook) int {
	n := 384 + len(h.Token) + len(h.Metadata)
	if h.Resume != nil {
		n += 384 + len(h.Resume.TraceCarrier)
	}
	return n
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

package wire

import "github.com/world-redis/world-redis"

// HookSize estimates the size of a hook, in bytes.
func HookSize(h *world.Hook) int {
	n := 384 + len(h.Token) + len(h.Metadata)
	if h.Resume != nil {
		n += 384 + len(h.Resume.TraceCarrier)
	}
	return n
}

// Hook writes a hook.
func Hook(e *Encoder, h *world.Hook) {
	o := e.Object()
	o.Text("runId", h.RunID)
	o.Text("hookId", h.HookID)
	o.Text("token", h.Token)
	// The SDK expects these three as text even if they have no meaning.
	o.Text("ownerId", h.OwnerID)
	o.Text("projectId", h.ProjectID)
	o.Text("environment", h.Environment)
	o.OptionalRaw("metadata", h.Metadata)
	o.Flag("isWebhook", h.IsWebhook)
	if h.IsSystem {
		o.Flag("isSystem", true)
	}
	o.OptionalWhole("specVersion", h.SpecVersion)
	o.Whole("createdAt", int64(h.CreatedAt))
	o.OptionalMillis("tokenRetentionUntil", h.TokenRetentionUntil)
	if h.Resume != nil {
		o.Key("resumeContext")
		writeResumeContext(e, h.Resume)
		o.Key("resumeCapabilities")
		able := e.Object()
		able.Whole("hookResumeDedupVersion", int64(h.Resume.DedupVersion))
		able.End()
	}
	o.End()
}

func writeResumeContext(e *Encoder, r *world.HookResume) {
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

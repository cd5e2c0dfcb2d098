package record

import (
	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// NoOwner stands for the fields that mean something only where users have accounts; the SDK
// insists on text there.
const NoOwner = "default"

// HookOf builds a hook from its hook_created event.
func HookOf(e world.Event, resolveNone bool) world.Hook {
	h := world.Hook{
		RunID: e.RunID, HookID: e.CorrelationID, Token: TextField(e.Data, "token"),
		OwnerID: NoOwner, ProjectID: NoOwner, Environment: NoOwner, SpecVersion: e.SpecVersion, CreatedAt: e.CreatedAt,
	}
	h.IsWebhook = BoolField(e.Data, "isWebhook")
	h.IsSystem = BoolField(e.Data, "isSystem")
	h.TokenRetentionUntil, _ = MillisField(e.Data, "tokenRetentionUntil")
	if !resolveNone {
		h.Metadata = e.Data.Get("metadata")
	}
	return h
}

// resumeDedupVersion says which contract of resume ids is kept: one hook_received for each.
const resumeDedupVersion = 1

// ResumeOf reads off a run what a resume of one of its hooks needs.
func ResumeOf(run world.Run) *world.HookResume {
	r := &world.HookResume{
		DeploymentID: run.DeploymentID, WorkflowName: run.WorkflowName, RunSpecVersion: run.SpecVersion,
		EncryptionPublicKey: run.EncryptionPublicKey, DedupVersion: resumeDedupVersion,
	}
	var context map[string]cbor.RawMessage
	if len(run.ExecutionContext) == 0 || cbor.Unmarshal(run.ExecutionContext, &context) != nil {
		return r
	}
	fields := make(world.Fields, 0, len(context))
	for key, value := range context {
		fields = append(fields, world.Field{Key: key, Value: world.Raw(value)})
	}
	r.WorkflowCoreVersion = TextField(fields, "workflowCoreVersion")
	if version, ok := MillisField(fields, "hookResumeInputVersion"); ok {
		r.InputVersion = int(version)
	}
	var carrier map[string]string
	if raw := fields.Get("traceCarrier"); raw != nil && cbor.Unmarshal(raw, &carrier) == nil && carrier != nil {
		r.TraceCarrier = raw
	}
	return r
}

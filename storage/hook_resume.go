package storage

import (
	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// resumeDedupVersion says which contract of resume ids is kept: one hook_received for each.
const resumeDedupVersion = 1

// resumeOf reads off a run what a resume of one of its hooks needs.
func resumeOf(run world.Run) *world.HookResume {
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
	r.WorkflowCoreVersion = textField(fields, "workflowCoreVersion")
	if version, ok := millisField(fields, "hookResumeInputVersion"); ok {
		r.InputVersion = int(version)
	}
	var carrier map[string]string
	if raw := fields.Get("traceCarrier"); raw != nil && cbor.Unmarshal(raw, &carrier) == nil && carrier != nil {
		r.TraceCarrier = raw
	}
	return r
}

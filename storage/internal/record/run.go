package record

import "github.com/world-redis/world-redis"

// Run builds the entity. What never changes stands in the run_created event.
func (e Entity) Run(resolveNone bool) world.Run {
	created := e.event("ie")
	r := world.Run{
		RunID: e.RunID, Status: world.RunStatus(e.Get("s")), SpecVersion: e.int("v"),
		DeploymentID: TextField(created.Data, "deploymentId"), WorkflowName: TextField(created.Data, "workflowName"),
		ExecutionContext: created.Data.Get("executionContext"), EncryptionPublicKey: TextField(created.Data, "encryptionPublicKey"),
		CreatedAt: created.CreatedAt, UpdatedAt: e.Millis("u"), StartedAt: e.Millis("sa"), CompletedAt: e.Millis("ca"), ExpiredAt: e.Millis("x"),
	}
	if r.SpecVersion >= FirstAttributeSpec {
		r.Attributes = EncodeAttributes(e.attributes())
	}
	if !resolveNone {
		r.Input = created.Data.Get("input")
	}
	switch r.Status {
	case world.RunCompleted:
		if !resolveNone {
			r.Output = e.event("oe").Data.Get("output")
		}
	case world.RunFailed:
		failed := e.event("ee")
		r.ErrorCode = TextField(failed.Data, "errorCode")
		r.Error = runError(failed.Data, r.SpecVersion)
	}
	e.legacyRun(&r, resolveNone)
	return r
}

// RunAsOf builds the run as the answer to the given event was, whatever happened since.
func (e Entity) RunAsOf(at Stored, resolveNone bool) world.Run {
	r := e.Run(resolveNone)
	if !at.Replayed {
		return r
	}
	switch at.Event.Type {
	case world.EventRunCreated:
		r.Status, r.StartedAt = world.RunPending, 0
	case world.EventRunStarted, world.EventAttrSet:
		r.Status = world.RunRunning
	default:
		return r // a terminal state never changes
	}
	r.UpdatedAt = at.Event.CreatedAt
	r.CompletedAt, r.ExpiredAt, r.Output, r.Error, r.ErrorCode = 0, 0, nil, nil, ""
	return r
}

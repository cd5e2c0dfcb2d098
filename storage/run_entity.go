package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// firstAttributeSpec is the spec version from which a run always has attributes.
const firstAttributeSpec = 4

// run builds the entity. What never changes stands in the run_created event.
func (e entity) run(resolveNone bool) world.Run {
	created := e.event("ie")
	r := world.Run{
		RunID: e.runID, Status: world.RunStatus(e.get("s")), SpecVersion: e.int("v"),
		DeploymentID: textField(created.Data, "deploymentId"), WorkflowName: textField(created.Data, "workflowName"),
		ExecutionContext: created.Data.Get("executionContext"), EncryptionPublicKey: textField(created.Data, "encryptionPublicKey"),
		CreatedAt: created.CreatedAt, UpdatedAt: e.ms("u"), StartedAt: e.ms("sa"), CompletedAt: e.ms("ca"), ExpiredAt: e.ms("x"),
	}
	if r.SpecVersion >= firstAttributeSpec {
		r.Attributes = encodeAttributes(e.attributes())
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
		r.ErrorCode = textField(failed.Data, "errorCode")
		r.Error = runError(failed.Data, r.SpecVersion)
	}
	e.legacyRun(&r, resolveNone)
	return r
}

// runAsOf builds the run as the answer to the given event was, whatever happened since.
func (e entity) runAsOf(at stored, resolveNone bool) world.Run {
	r := e.run(resolveNone)
	if !at.replayed {
		return r
	}
	switch at.event.Type {
	case world.EventRunCreated:
		r.Status, r.StartedAt = world.RunPending, 0
	case world.EventRunStarted, world.EventAttrSet:
		r.Status = world.RunRunning
	default:
		return r // a terminal state never changes
	}
	r.UpdatedAt = at.event.CreatedAt
	r.CompletedAt, r.ExpiredAt, r.Output, r.Error, r.ErrorCode = 0, 0, nil, nil, ""
	return r
}

// runAsOf is entity.runAsOf with the attributes of that moment.
func (s *Store) runAsOf(ctx context.Context, e entity, at stored, resolveNone bool) (world.Run, error) {
	r := e.runAsOf(at, resolveNone)
	position := atoi(at.position)
	moved := at.event.Type == world.EventAttrSet || e.get("ap") != "" && !e.before("ap", position)
	if !at.replayed || r.Status.Terminal() || !moved {
		return r, nil
	}
	past, err := s.pastOf(ctx, e.runID, position)
	if err != nil {
		return r, err
	}
	r.StartedAt = past.startedAt
	if r.SpecVersion >= firstAttributeSpec {
		r.Attributes = encodeAttributes(past.attributes)
	}
	if past.startedAt == 0 {
		r.Status = world.RunPending
	}
	return r, nil
}

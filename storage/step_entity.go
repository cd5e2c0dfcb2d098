package storage

import "github.com/world-redis/world-redis"

// stepFields are the fields of a step that the scripts of its events answer, in this order
// (lua/lib/entity.lua).
var stepFields = [...]string{"s", "a", "u", "sa", "ca", "ra", "ie", "oe", "ee"}

// decodeStep reads the reply of tell_step() in lua/lib/entity.lua; own is as in [decodeEntity].
func decodeStep(runID string, r reply, own *stored) (entity, error) {
	e := entity{runID: runID, fields: make(reply, 0, 2*len(stepFields))}
	for i, name := range stepFields {
		if value := r.at(i); value != nil {
			e.fields = append(e.fields, name, value)
		}
	}
	err := e.refer(r.after(len(stepFields)), own)
	return e, err
}

// step builds the entity. What never changes stands in the step_created event.
func (e entity) step(stepID string, resolveNone bool) world.Step {
	created := e.event("ie")
	s := world.Step{
		RunID: e.runID, StepID: stepID, StepName: textField(created.Data, "stepName"),
		Status: world.StepStatus(e.get("s")), Attempt: e.int("a"), SpecVersion: created.SpecVersion,
		CreatedAt: created.CreatedAt, UpdatedAt: e.ms("u"), StartedAt: e.ms("sa"), CompletedAt: e.ms("ca"), RetryAfter: e.ms("ra"),
	}
	if failed := e.event("ee"); failed.Data != nil {
		s.Error = stepError(failed.Data, s.SpecVersion)
	}
	if !resolveNone {
		s.Input = created.Data.Get("input")
		s.Output = e.event("oe").Data.Get("result")
	}
	e.legacyStep(&s, resolveNone)
	return s
}

// stepAsOf builds the step as the answer to the given event was, whatever happened since.
func (e entity) stepAsOf(stepID string, at stored, resolveNone bool) world.Step {
	s := e.step(stepID, resolveNone)
	if !at.replayed {
		return s
	}
	s.Attempt, s.UpdatedAt = at.note, at.event.CreatedAt
	if !e.before("ee", atoi(at.position)) {
		s.Error = nil
	}
	switch at.event.Type {
	case world.EventStepCreated:
		s.Status, s.StartedAt = world.StepPending, 0
	case world.EventStepStarted:
		s.Status = world.StepRunning
	case world.EventStepRetrying:
		s.Status = world.StepPending
	default:
		return s // a terminal state never changes
	}
	s.CompletedAt, s.Output, s.RetryAfter = 0, nil, 0
	if at.event.Type == world.EventStepRetrying {
		s.RetryAfter, _ = millisField(at.event.Data, "retryAfter")
		s.Error = stepError(at.event.Data, s.SpecVersion)
	}
	if at.note == 0 {
		s.StartedAt = 0
	}
	return s
}

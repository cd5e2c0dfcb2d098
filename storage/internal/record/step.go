package record

import "github.com/world-redis/world-redis"

// StepFields are the fields of a step that the scripts of its events answer, in this order
// (lua/lib/entity.lua).
var StepFields = [...]string{"s", "a", "u", "sa", "ca", "ra", "ie", "oe", "ee"}

// DecodeStep reads the reply of add_step() in lua/lib/entity.lua; own is as in [DecodeEntity].
func DecodeStep(runID string, r Reply, own *Stored) (Entity, error) {
	e := Entity{RunID: runID, Fields: make(Reply, 0, 2*len(StepFields))}
	for i, name := range StepFields {
		if value := r.at(i); value != nil {
			e.Fields = append(e.Fields, name, value)
		}
	}
	err := e.refer(r.After(len(StepFields)), own)
	return e, err
}

// Step builds the entity. What never changes stands in the step_created event.
func (e Entity) Step(stepID string, resolveNone bool) world.Step {
	created := e.event("ie")
	s := world.Step{
		RunID: e.RunID, StepID: stepID, StepName: TextField(created.Data, "stepName"),
		Status: world.StepStatus(e.Get("s")), Attempt: e.int("a"), SpecVersion: created.SpecVersion,
		CreatedAt: created.CreatedAt, UpdatedAt: e.Millis("u"), StartedAt: e.Millis("sa"), CompletedAt: e.Millis("ca"), RetryAfter: e.Millis("ra"),
	}
	if failed := e.event("ee"); failed.Data != nil {
		s.Error = StepError(failed.Data, s.SpecVersion)
	}
	if !resolveNone {
		s.Input = created.Data.Get("input")
		s.Output = e.event("oe").Data.Get("result")
	}
	e.legacyStep(&s, resolveNone)
	return s
}

// StepAsOf builds the step as the answer to the given event was, whatever happened since.
func (e Entity) StepAsOf(stepID string, at Stored, resolveNone bool) world.Step {
	s := e.Step(stepID, resolveNone)
	if !at.Replayed {
		return s
	}
	s.Attempt, s.UpdatedAt = at.Note, at.Event.CreatedAt
	if !e.Before("ee", Int(at.Position)) {
		s.Error = nil
	}
	switch at.Event.Type {
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
	if at.Event.Type == world.EventStepRetrying {
		s.RetryAfter, _ = MillisField(at.Event.Data, "retryAfter")
		s.Error = StepError(at.Event.Data, s.SpecVersion)
	}
	if at.Note == 0 {
		s.StartedAt = 0
	}
	return s
}

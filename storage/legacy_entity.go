package storage

import (
	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// An entity of the legacy calls carries what it is in its hash: there are no events for it.

func (e entity) isLegacy() bool { return e.get("c") != "" }

// raw returns a field that holds a CBOR item, nil when it is absent.
func (e entity) raw(field string) world.Raw {
	if e.get(field) == "" {
		return nil
	}
	return world.Raw(e.get(field))
}

// legacyRun fills in what a modern run has from its events.
func (e entity) legacyRun(r *world.Run, resolveNone bool) {
	if !e.isLegacy() {
		return
	}
	r.CreatedAt, r.DeploymentID, r.WorkflowName = e.ms("c"), e.get("d"), e.get("n")
	r.ExecutionContext = e.raw("xc")
	if !resolveNone {
		r.Input = e.raw("in")
	}
	switch r.Status {
	case world.RunCompleted:
		if !resolveNone {
			r.Output = e.raw("out")
		}
	case world.RunFailed:
		r.Error = legacyError(e.raw("er"))
	}
}

// legacyStep is legacyRun for a step.
func (e entity) legacyStep(s *world.Step, resolveNone bool) {
	if !e.isLegacy() {
		return
	}
	s.CreatedAt, s.StepName = e.ms("c"), e.get("n")
	if !resolveNone {
		s.Input, s.Output = e.raw("in"), e.raw("out")
	}
	if raw := e.raw("er"); raw != nil {
		s.Error = legacyError(raw)
	}
}

// legacyError makes {message, stack?, code?} of what a legacy client gives as an error.
func legacyError(raw world.Raw) world.Raw {
	if isBytes(raw) {
		return raw
	}
	e := describe(raw)
	var fields map[string]any
	if cbor.Unmarshal(raw, &fields) == nil {
		e.Code, _ = fields["code"].(string)
	}
	return encodeError(e)
}

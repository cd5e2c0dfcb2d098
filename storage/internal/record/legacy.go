package record

import (
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// An entity of the legacy calls has everything in its hash: there are no events for it.

func (e Entity) isLegacy() bool { return e.Get("c") != "" }

// raw returns a field that holds a CBOR item, nil when it is absent.
func (e Entity) raw(field string) world.Raw {
	if e.Get(field) == "" {
		return nil
	}
	return world.Raw(e.Get(field))
}

// legacyRun fills in what a modern run has from its events.
func (e Entity) legacyRun(r *world.Run, resolveNone bool) {
	if !e.isLegacy() {
		return
	}
	r.CreatedAt, r.DeploymentID, r.WorkflowName = e.Millis("c"), e.Get("d"), e.Get("n")
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
func (e Entity) legacyStep(s *world.Step, resolveNone bool) {
	if !e.isLegacy() {
		return
	}
	s.CreatedAt, s.StepName = e.Millis("c"), e.Get("n")
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

// remembered are the fields whose former values lua/lib/legacy.lua keeps, in its order. Of the last two, which are payloads, it
// keeps only whether they were there.
var remembered = [...]string{"s", "u", "sa", "ca", "a", "ra", "out", "er"}

// AsOf restores an entity to its state after the call that kept these scalars.
func (e *Entity) AsOf(scalars string) {
	values := strings.Split(scalars, " ")
	if len(values) != len(remembered) {
		return // none were kept: the entity is as the call left it
	}
	for i, value := range values {
		switch value {
		case "-":
			e.Set(remembered[i], nil)
		case "+":
		default:
			e.Set(remembered[i], value)
		}
	}
}

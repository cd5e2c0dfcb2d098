package storage

import (
	"context"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// The fields of a step or run with the position of the event that has its output or its error (keys.go).
const (
	outputField = "oe"
	errorField  = "ee"
)

// The last argument of step_end.lua: only a step_failed is checked against the state of the run, too (contract §3.2).
const (
	runNotConsulted = "0"
	runConsulted    = "1"
)

// planStepEvent is how the events of a step are applied.
func (s *Store) planStepEvent(c *call) (*plan, error) {
	switch c.req.Type {
	case world.EventStepCreated:
		return s.planStep(c), nil
	case world.EventStepStarted:
		if startsNewStep(c.req) {
			return s.planNewStep(c)
		}
		return s.planStepChange(c, s.scripts.stepStart), nil
	case world.EventStepCompleted:
		return s.planStepChange(c, s.scripts.stepEnd, string(world.StepCompleted), outputField, runNotConsulted), nil
	case world.EventStepFailed:
		return s.planStepChange(c, s.scripts.stepEnd, string(world.StepFailed), errorField, runConsulted), nil
	default: // step_retrying
		return s.planStepChange(c, s.scripts.stepRetry, retryAfterOf(c.req)), nil
	}
}

// planStep returns the plan of step_created.
func (s *Store) planStep(c *call) *plan {
	return &plan{
		script: s.scripts.stepCreate, keys: []string{c.keys.step(c.req.CorrelationID), c.keys.steps()},
		makes: true, ofStep: true, result: s.stepResult,
	}
}

// planStepChange returns the plan of the events of a step that exists.
func (s *Store) planStepChange(c *call, script script, args ...any) *plan {
	return &plan{script: script, keys: []string{c.keys.step(c.req.CorrelationID)}, args: args, ofStep: true, result: s.stepResult}
}

// retryAfterOf is the argument of step_retrying.
func retryAfterOf(req world.CreateEvent) string {
	ms, ok := record.MillisField(req.Data, "retryAfter")
	if !ok {
		return ""
	}
	return strconv.FormatInt(int64(ms), 10)
}

// startsNewStep reports whether a step_started has what is needed to create the step, in case it is the first event of the
// step.
func startsNewStep(req world.CreateEvent) bool {
	return record.TextField(req.Data, "stepName") != "" && req.Data.Has("input")
}

// planNewStep returns the plan of such a step_started. The first caller creates the step and starts it, and its answer says so; all others
// are refused. Only the step_created has the input.
func (s *Store) planNewStep(c *call) (*plan, error) {
	created := c.event
	created.Type = world.EventStepCreated
	created.Data = world.Fields{
		{Key: "stepName", Value: c.req.Data.Get("stepName")},
		{Key: "input", Value: c.req.Data.Get("input")},
	}
	c.event.Data = c.req.Data.Without("input")
	encoded, split, err := record.Encode(created)
	if err != nil {
		return nil, fail(err)
	}
	p := s.planStep(c)
	p.script, p.args = s.scripts.stepBegin, []any{encoded, split}
	p.result = func(ctx context.Context, c *call, o scriptOutcome) (world.EventResult, error) {
		var first *record.Stored
		if !o.stored.Replayed {
			made := created
			made.CreatedAt = o.stored.Event.CreatedAt
			first = &record.Stored{Event: made, Position: strconv.Itoa(record.Int(o.stored.Position) - 1)}
		}
		result, err := s.stepResultWith(ctx, c, o, first)
		result.StepCreated = err == nil
		return result, err
	}
	return p, nil
}

func (s *Store) stepResult(ctx context.Context, c *call, o scriptOutcome) (world.EventResult, error) {
	return s.stepResultWith(ctx, c, o, o.own())
}

// stepResultWith builds the answer; known is the event that the script left out.
func (s *Store) stepResultWith(ctx context.Context, c *call, o scriptOutcome, known *record.Stored) (world.EventResult, error) {
	e, err := record.DecodeStep(c.req.RunID, o.rest, known)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	step := e.StepAsOf(c.req.CorrelationID, o.stored, c.req.ResolveNone)
	position := record.Int(o.stored.Position)
	if o.stored.Replayed && c.req.Type == world.EventStepStarted && e.Get("ee") != "" && !e.Before("ee", position) {
		// The step has failed again since, so its hash refers to a later error than the one of the first answer.
		if step.Error, err = s.errorBefore(ctx, c.req, position, step.SpecVersion); err != nil {
			return world.EventResult{}, err
		}
	}
	return world.EventResult{Event: c.answer(o.stored.Event), Step: &step}, nil
}

// errorBefore returns the error of the last step_retrying before a position of the log, nil when
// there is none.
func (s *Store) errorBefore(ctx context.Context, req world.CreateEvent, position, spec int) (world.Raw, error) {
	q := world.EventQuery{RunID: req.RunID, CorrelationID: req.CorrelationID, Page: world.PageRequest{
		Order: world.Descending, Cursor: paging.EventCursor(paging.EventScope(req.RunID, req.CorrelationID), position),
	}}
	for {
		page, err := s.listRelated(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Data {
			if e.Type == world.EventStepRetrying {
				return record.StepError(e.Data, spec), nil
			}
		}
		if !page.HasMore {
			return nil, nil
		}
		q.Page.Cursor = page.Cursor
	}
}

package storage

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// createStep applies step_created.
func (s *Store) createStep(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.orMend(ctx, c, func() (outcome, error) {
		return s.applyLocated(ctx, c, s.scripts.stepCreate, []string{c.keys.step(c.req.CorrelationID), c.keys.steps()})
	})
	if err != nil {
		return world.EventResult{}, err
	}
	return s.stepResult(ctx, c, o)
}

// changeStep applies the events of a step that exists.
func (s *Store) changeStep(ctx context.Context, c *call, script script, args ...any) (world.EventResult, error) {
	o, err := s.orMend(ctx, c, func() (outcome, error) {
		return s.apply(ctx, c, script, []string{c.keys.step(c.req.CorrelationID)}, args...)
	})
	if err != nil {
		return world.EventResult{}, err
	}
	return s.stepResult(ctx, c, o)
}

// retryStep applies step_retrying.
func (s *Store) retryStep(ctx context.Context, c *call) (world.EventResult, error) {
	retryAfter := ""
	if ms, ok := millisField(c.req.Data, "retryAfter"); ok {
		retryAfter = strconv.FormatInt(int64(ms), 10)
	}
	return s.changeStep(ctx, c, s.scripts.stepRetry, retryAfter)
}

// startsNewStep reports whether a step_started brings along what makes a step, for the case
// that it is the first of its step.
func startsNewStep(req world.CreateEvent) bool {
	return textField(req.Data, "stepName") != "" && req.Data.Has("input")
}

// beginStep applies such a step_started: the first caller creates the step and starts it, and
// is told so; everybody else is refused. The input stands in the step_created alone.
func (s *Store) beginStep(ctx context.Context, c *call) (world.EventResult, error) {
	created := c.event
	created.Type = world.EventStepCreated
	created.Data = world.Fields{
		{Key: "stepName", Value: c.req.Data.Get("stepName")},
		{Key: "input", Value: c.req.Data.Get("input")},
	}
	c.event.Data = c.req.Data.Without("input")
	record, split, err := encodeRecord(created)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	o, err := s.orMend(ctx, c, func() (outcome, error) {
		return s.applyLocated(ctx, c, s.scripts.stepBegin, []string{c.keys.step(c.req.CorrelationID), c.keys.steps()}, record, split)
	})
	if err != nil {
		return world.EventResult{}, err
	}
	var first *stored
	if !o.stored.replayed {
		created.CreatedAt = o.stored.event.CreatedAt
		first = &stored{event: created, position: strconv.Itoa(atoi(o.stored.position) - 1)}
	}
	result, err := s.stepResultWith(ctx, c, o, first)
	result.StepCreated = err == nil
	return result, err
}

func (s *Store) stepResult(ctx context.Context, c *call, o outcome) (world.EventResult, error) {
	return s.stepResultWith(ctx, c, o, o.own())
}

// stepResultWith builds the answer; known is the event that the script left out.
func (s *Store) stepResultWith(ctx context.Context, c *call, o outcome, known *stored) (world.EventResult, error) {
	e, err := decodeStep(c.req.RunID, o.rest, known)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	step := e.stepAsOf(c.req.CorrelationID, o.stored, c.req.ResolveNone)
	position := atoi(o.stored.position)
	if o.stored.replayed && c.req.Type == world.EventStepStarted && e.get("ee") != "" && !e.before("ee", position) {
		// The step has failed again since, so its hash names a later error than the one told then.
		if step.Error, err = s.errorBefore(ctx, c.req, position, step.SpecVersion); err != nil {
			return world.EventResult{}, err
		}
	}
	return world.EventResult{Event: c.answer(o.stored.event), Step: &step}, nil
}

// errorBefore returns the error of the last step_retrying before a position of the log, nil when
// there is none.
func (s *Store) errorBefore(ctx context.Context, req world.CreateEvent, position, spec int) (world.Raw, error) {
	q := world.EventQuery{RunID: req.RunID, CorrelationID: req.CorrelationID, Page: world.PageRequest{
		Order: world.Descending, Cursor: eventCursor(eventScope(req.RunID, req.CorrelationID), position),
	}}
	for {
		page, err := s.listRelated(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Data {
			if e.Type == world.EventStepRetrying {
				return stepError(e.Data, spec), nil
			}
		}
		if !page.HasMore {
			return nil, nil
		}
		q.Page.Cursor = page.Cursor
	}
}

// applyLocated is apply for an event that creates an entity; it also notes which run the
// entity belongs to, for reads that name no run.
func (s *Store) applyLocated(ctx context.Context, c *call, script script, keys []string, args ...any) (outcome, error) {
	locator, id := s.keys.locator(c.req.CorrelationID), c.req.CorrelationID
	o, err := s.applyWith(ctx, c, false, func(p redis.Pipeliner) { p.HSet(ctx, locator, id, c.req.RunID) }, script, keys, args...)
	if world.ErrorCode(err) == world.CodeRunNotFound {
		_ = s.redis.HDel(ctx, locator, id).Err() // without a run there is nothing to locate; a leftover does no harm
	}
	return o, err
}

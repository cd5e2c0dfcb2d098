package storage

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// A log goes along with run_started when it has at most this many events and bytes.
const (
	preloadEvents = 800
	preloadBytes  = deltaBytes
)

// startRun applies run_started. Data on it is an offer to create the run, for the case that
// the queue was faster than run_created; the event itself is stored without data.
func (s *Store) startRun(ctx context.Context, c *call) (world.EventResult, error) {
	offer := c.req.Data
	c.event.Data = nil
	name := textField(offer, "workflowName")
	offered := name != "" && textField(offer, "deploymentId") != "" && offer.Has("input")

	limit := preloadEvents
	if c.req.SkipPreload || c.asked.kind == 'a' {
		limit = 0
	}
	args := []any{strconv.Itoa(c.req.SpecVersion), "", "", limit, preloadBytes}
	entry := s.entryOf(c.req.RunID, name, c.now, world.RunRunning)
	var o outcome
	var err error
	if offered {
		created := c.event
		created.Type, created.Data = world.EventRunCreated, offer
		record, split, encodeErr := encodeRecord(created)
		if encodeErr != nil {
			return world.EventResult{}, fail(encodeErr)
		}
		args[1], args[2] = record, split
		attributes := firstAttributes(offer)
		if err := s.mayKeepNothing(ctx, c.req.RunID, attributes); err != nil {
			return world.EventResult{}, err
		}
		args = append(args, attributes...)
		o, err = s.applyWith(ctx, c, true, func(p redis.Pipeliner) { s.add(ctx, p, entry) }, s.scripts.runStart, nil, args...)
		if err != nil && world.ErrorCode(err) != world.CodeUnavailable {
			s.correct(ctx, entry)
		}
	} else {
		o, err = s.applyEntered(ctx, c, entry, s.scripts.runStart, nil, args...)
	}
	if err != nil {
		return world.EventResult{}, err
	}
	runAt := 1 // after the log
	if o.code == codeDone {
		runAt = 2 // and what the run was before
	}
	e, err := decodeEntity(c.req.RunID, o.rest.after(runAt), nil)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	// The element after the log says what the run was before: pending is a list to leave. A call that
	// comes again may have failed at just that. A run that has ended is left to the call that ended it.
	switch status := world.RunStatus(e.get("s")); {
	case status.Terminal():
		s.correct(ctx, entry)
	case o.code == codeReplayed:
		if err := s.moveRun(context.WithoutCancel(ctx), entry); err != nil {
			return world.EventResult{}, err
		}
	case o.code == codeDone && o.rest.text(1) != "":
		s.depart(entry)
	}
	return s.startResult(ctx, c, o, e)
}

// startResult builds the answer of run_started. The script has left out of the run e the event that the log begins with.
func (s *Store) startResult(ctx context.Context, c *call, o outcome, e entity) (world.EventResult, error) {
	log := o.rest.list(0)
	told, err := s.fillDone(ctx, c.req.RunID, 0, log.after(1))
	if err != nil {
		return world.EventResult{}, err
	}
	events, err := decodeEvents(c.req.RunID, 0, 1, c.req.ResolveNone, told)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	if len(events) > 0 {
		e.place("0", events[0])
	}
	run, err := s.runAsOf(ctx, e, o.stored, c.req.ResolveNone)
	if err != nil {
		return world.EventResult{}, err
	}
	result := world.EventResult{Run: &run, MaxEvents: s.maxEvents}
	if o.code != codeUnchanged {
		result.Event = c.answer(o.stored.event)
	}
	if log == nil || len(events) == 0 && log.number(0) > 0 { // the first event alone may be too big
		return result, nil
	}
	result.Events, result.HasMore = events, len(events) < log.number(0)
	if n := len(events); n > 0 {
		result.Cursor = logCursor(eventScope(c.req.RunID, ""), n-1, events[n-1].CreatedAt)
	}
	return result, nil
}

package storage

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// createRun applies run_created. The run enters the lists before it exists: a crash in between leaves an entry that readers
// skip, and not a run that no list shows.
func (s *Store) createRun(ctx context.Context, c *call) (world.EventResult, error) {
	entry := s.index.Entry(c.req.RunID, record.TextField(c.req.Data, "workflowName"), c.now, world.RunPending)
	attributes := firstAttributes(c.req.Data)
	if err := s.mayCreate(ctx, c.req); err != nil {
		return world.EventResult{}, err
	}
	if err := s.mayKeepNothing(ctx, c.req.RunID, attributes); err != nil {
		return world.EventResult{}, err
	}
	o, err := s.applyWith(ctx, c, true, func(p redis.Pipeliner) { s.index.Add(ctx, p, entry) },
		s.scripts.runCreate, []string{c.keys.removed()}, append([]any{strconv.Itoa(c.req.SpecVersion)}, attributes...)...)
	if world.ErrorCode(err) == world.CodeConflict || o.code == codeReplayed {
		s.index.Correct(ctx, entry) // the run may have moved on already
	}
	if err != nil {
		return world.EventResult{}, err
	}
	return s.runResult(ctx, c, o, o.rest)
}

// runResult builds the answer of the run events; run is the part of the reply with the run.
func (s *Store) runResult(ctx context.Context, c *call, o scriptOutcome, run record.Reply) (world.EventResult, error) {
	_, result, err := s.runResultOf(ctx, c, o, run)
	return result, err
}

// runResultOf also returns the run as it was read.
func (s *Store) runResultOf(ctx context.Context, c *call, o scriptOutcome, run record.Reply) (record.Entity, world.EventResult, error) {
	e, err := record.DecodeEntity(c.req.RunID, run, o.own())
	if err != nil {
		return e, world.EventResult{}, fail(err)
	}
	if e.Millis("x") != 0 { // nothing of the run is kept, the event that ended it included
		o.stored.Event = withoutPayload(o.stored.Event)
		e.Place(o.stored.Position, o.stored.Event)
	}
	answer, err := s.runAsOf(ctx, e, o.stored, c.req.ResolveNone)
	if err != nil {
		return e, world.EventResult{}, err
	}
	return e, world.EventResult{Event: c.answer(o.stored.Event), Run: &answer, MaxEvents: s.maxEvents}, nil
}

// run_started returns the log with the run if it has at most this many events and bytes.
const (
	preloadEvents = 800
	preloadBytes  = deltaBytes
)

// startRun applies run_started. Its data may create the run, if run_created has not come yet. The event itself is stored
// without data.
func (s *Store) startRun(ctx context.Context, c *call) (world.EventResult, error) {
	offer := c.req.Data
	c.event.Data = nil
	name := record.TextField(offer, "workflowName")
	offered := name != "" && record.TextField(offer, "deploymentId") != "" && offer.Has("input")

	limit := preloadEvents
	if c.req.SkipPreload || c.asked.kind == 'a' {
		limit = 0
	}
	args := []any{strconv.Itoa(c.req.SpecVersion), "", "", limit, preloadBytes}
	entry := s.index.Entry(c.req.RunID, name, c.now, world.RunRunning)
	var o scriptOutcome
	var err error
	if offered {
		if err := s.mayCreate(ctx, c.req); err != nil {
			return world.EventResult{}, err
		}
		created := c.event
		created.Type, created.Data = world.EventRunCreated, offer
		encoded, split, encodeErr := record.Encode(created)
		if encodeErr != nil {
			return world.EventResult{}, fail(encodeErr)
		}
		args[1], args[2] = encoded, split
		attributes := firstAttributes(offer)
		if err := s.mayKeepNothing(ctx, c.req.RunID, attributes); err != nil {
			return world.EventResult{}, err
		}
		args = append(args, attributes...)
		o, err = s.applyWith(ctx, c, true, func(p redis.Pipeliner) { s.index.Add(ctx, p, entry) }, s.scripts.runStart, []string{c.keys.removed()}, args...)
		if err != nil && world.ErrorCode(err) != world.CodeUnavailable {
			s.index.Correct(ctx, entry)
		}
	} else {
		o, err = s.applyEntered(ctx, c, entry, s.scripts.runStart, []string{c.keys.removed()}, args...)
	}
	if err != nil {
		return world.EventResult{}, err
	}
	runAt := 1 // after the log
	if o.code == codeDone {
		runAt = 2 // and what the run was before
	}
	e, err := record.DecodeEntity(c.req.RunID, o.rest.After(runAt), nil)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	// The element after the log is the status before; pending is a list to leave. The first try of a repeated call may have
	// failed to do so. A run that has ended is left to the call that ended it.
	switch status := world.RunStatus(e.Get("s")); {
	case status.Terminal():
		s.index.Correct(ctx, entry)
	case o.code == codeReplayed:
		if err := s.index.Move(context.WithoutCancel(ctx), entry); err != nil {
			return world.EventResult{}, fail(err)
		}
	case o.code == codeDone && o.rest.Text(1) != "":
		s.index.Unlist(entry)
	}
	return s.startResult(ctx, c, o, e)
}

// startResult builds the answer of run_started. The run e lacks the first event of the log, which the script returned with the
// log.
func (s *Store) startResult(ctx context.Context, c *call, o scriptOutcome, e record.Entity) (world.EventResult, error) {
	log := o.rest.List(0)
	filled, err := s.fillDone(ctx, c.req.RunID, 0, log.After(1))
	if err != nil {
		return world.EventResult{}, err
	}
	events, err := decodeEvents(c.req.RunID, 0, 1, c.req.ResolveNone, filled)
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	if len(events) > 0 {
		e.Place("0", events[0])
	}
	run, err := s.runAsOf(ctx, e, o.stored, c.req.ResolveNone)
	if err != nil {
		return world.EventResult{}, err
	}
	result := world.EventResult{Run: &run, MaxEvents: s.maxEvents}
	if o.code != codeUnchanged {
		result.Event = c.answer(o.stored.Event)
	}
	if log == nil || len(events) == 0 && log.Number(0) > 0 { // the first event alone may be too big
		return result, nil
	}
	result.Events, result.HasMore = events, len(events) < log.Number(0)
	if n := len(events); n > 0 {
		result.Cursor = paging.LogCursor(paging.EventScope(c.req.RunID, ""), n-1, events[n-1].CreatedAt)
	}
	return result, nil
}

// endRun applies the three terminal events. When it returns, others can claim the tokens of the run's hooks.
func (s *Store) endRun(ctx context.Context, c *call, status world.RunStatus, reference string) (world.EventResult, error) {
	entry := s.entryFor(c, status)
	o, err := s.applyEntered(ctx, c, entry, s.scripts.runEnd, []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended()},
		string(status), reference)
	if err != nil {
		return world.EventResult{}, err
	}
	if o.code == codeReplayed { // the first call may have failed at any step
		return s.endResult(ctx, c, o, status)
	}
	// What is committed is completed even if the caller is gone.
	ctx = context.WithoutCancel(ctx)
	run, result, err := s.runResultOf(ctx, c, o, o.rest.After(1))
	if err == nil {
		err = s.releaseRun(ctx, o.rest.List(0), run)
	}
	if err == nil {
		entry.Due = s.dueAfterEnd(ctx, run.Run(true))
		s.index.Unlist(entry)
		s.clearLater(ctx, run)
	}
	return result, err
}

// endResult completes the end of a run outside its slot, and builds the answer.
func (s *Store) endResult(ctx context.Context, c *call, o scriptOutcome, status world.RunStatus) (world.EventResult, error) {
	ctx = context.WithoutCancel(ctx)
	run, result, err := s.runResultOf(ctx, c, o, o.rest.After(1))
	if err != nil {
		return world.EventResult{}, err
	}
	entry := s.entryFor(c, status)
	entry.Due = s.dueAfterEnd(ctx, run.Run(true))
	if err := s.cleanUp(ctx, o.rest.List(0), run, entry); err != nil {
		return result, err
	}
	s.clearLater(ctx, run)
	return result, nil
}

// cleanUp completes the end of a run outside its slot: it releases what the run has there, and moves the run in the lists. The
// lists come last, because the sweeper looks at the runs in the lists of the living.
func (s *Store) cleanUp(ctx context.Context, left record.Reply, run record.Entity, entry runindex.Entry) error {
	if err := s.releaseRun(ctx, left, run); err != nil {
		return err
	}
	return fail(s.index.Move(ctx, entry))
}

// releaseRun frees the tokens of the hooks that have ended, removes the streams of a run that keeps nothing, and notes a run
// that is to be cleared where the sweeper finds it.
func (s *Store) releaseRun(ctx context.Context, left record.Reply, run record.Entity) error {
	if err := s.noteCleanup(ctx, run); err != nil {
		return err
	}
	if err := s.releaseLeft(ctx, run.RunID, left); err != nil {
		return err
	}
	if run.Millis("x") != 0 {
		return s.purgeStreams(ctx, run.RunID)
	}
	return nil
}

// settle completes the last change of a run whose call may have failed before it was complete.
func (s *Store) settle(ctx context.Context, run world.Run, entry runindex.Entry) error {
	left, state, err := s.readLeft(ctx, run.RunID)
	if err != nil {
		return err
	}
	entry.Name, entry.Status, entry.Due = run.WorkflowName, run.Status, s.dueAfterEnd(ctx, run)
	return s.cleanUp(ctx, left, state, entry)
}

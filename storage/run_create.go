package storage

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// createRun applies run_created. The run enters the lists before it exists: a crash in
// between leaves an entry that readers skip, not a run that no list shows.
func (s *Store) createRun(ctx context.Context, c *call) (world.EventResult, error) {
	entry := s.entryOf(c.req.RunID, textField(c.req.Data, "workflowName"), c.now, world.RunPending)
	attributes := firstAttributes(c.req.Data)
	if err := s.mayKeepNothing(ctx, c.req.RunID, attributes); err != nil {
		return world.EventResult{}, err
	}
	o, err := s.applyWith(ctx, c, true, func(p redis.Pipeliner) { s.add(ctx, p, entry) },
		s.scripts.runCreate, nil, append([]any{strconv.Itoa(c.req.SpecVersion)}, attributes...)...)
	if world.ErrorCode(err) == world.CodeConflict || o.code == codeReplayed {
		s.correct(ctx, entry) // the run may have moved on already
	}
	if err != nil {
		return world.EventResult{}, err
	}
	return s.runResult(ctx, c, o, o.rest)
}

// runResult builds the answer of the run events; run is the part of the reply with the run.
func (s *Store) runResult(ctx context.Context, c *call, o outcome, run reply) (world.EventResult, error) {
	_, result, err := s.runResultOf(ctx, c, o, run)
	return result, err
}

// runResultOf also returns the run as it was read.
func (s *Store) runResultOf(ctx context.Context, c *call, o outcome, run reply) (entity, world.EventResult, error) {
	e, err := decodeEntity(c.req.RunID, run, o.own())
	if err != nil {
		return e, world.EventResult{}, fail(err)
	}
	if e.ms("x") != 0 { // nothing of the run is kept, the event that ended it included
		o.stored.event = withoutPayload(o.stored.event)
		e.place(o.stored.position, o.stored.event)
	}
	answer, err := s.runAsOf(ctx, e, o.stored, c.req.ResolveNone)
	if err != nil {
		return e, world.EventResult{}, err
	}
	return e, world.EventResult{Event: c.answer(o.stored.event), Run: &answer, MaxEvents: s.maxEvents}, nil
}

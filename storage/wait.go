package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

const (
	waitWaiting   = "waiting"
	waitCompleted = "completed"
)

// createWait applies wait_created.
func (s *Store) createWait(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.applyLocated(ctx, c, s.scripts.waitCreate, nil)
	if err != nil {
		return world.EventResult{}, err
	}
	return waitResult(c, o), nil
}

func waitResult(c *call, o outcome) world.EventResult {
	wait := waitOf(o.stored.event)
	return world.EventResult{Event: c.answer(o.stored.event), Wait: &wait}
}

// completeWait applies wait_completed.
func (s *Store) completeWait(ctx context.Context, c *call) (world.EventResult, error) {
	o, err := s.apply(ctx, c, s.scripts.waitComplete, nil)
	if err != nil {
		return world.EventResult{}, err
	}
	return waitEndResult(c, o)
}

func waitEndResult(c *call, o outcome) (world.EventResult, error) {
	first := o.rest.list(0)
	created, err := decodeRecord(c.req.RunID, first.number(0), first.text(1), first.bytes(2))
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	wait := waitOf(created)
	wait.Status = waitCompleted
	wait.CompletedAt, wait.UpdatedAt = o.stored.event.CreatedAt, o.stored.event.CreatedAt
	return world.EventResult{Event: c.answer(o.stored.event), Wait: &wait}, nil
}

// waitOf builds a wait from its wait_created event.
func waitOf(e world.Event) world.Wait {
	resumeAt, _ := millisField(e.Data, "resumeAt") // checked before it was stored
	return world.Wait{
		WaitID: e.RunID + "-" + e.CorrelationID, RunID: e.RunID, Status: waitWaiting, ResumeAt: resumeAt,
		CreatedAt: e.CreatedAt, UpdatedAt: e.CreatedAt, SpecVersion: e.SpecVersion,
	}
}

package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

const (
	waitWaiting   = "waiting"
	waitCompleted = "completed"
)

// waitResult builds the answer of wait_created.
func waitResult(_ context.Context, c *call, o outcome) (world.EventResult, error) {
	wait := waitOf(o.stored.event)
	return world.EventResult{Event: c.answer(o.stored.event), Wait: &wait}, nil
}

// waitEndResult builds the answer of wait_completed.
func waitEndResult(_ context.Context, c *call, o outcome) (world.EventResult, error) {
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

package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// planWaitEvent is how the events of a wait are applied.
func (s *Store) planWaitEvent(c *call) *plan {
	if c.req.Type == world.EventWaitCreated {
		return &plan{script: s.scripts.waitCreate, makes: true, result: waitResult}
	}
	return &plan{script: s.scripts.waitComplete, result: waitEndResult}
}

// waitResult builds the answer of wait_created.
func waitResult(_ context.Context, c *call, o scriptOutcome) (world.EventResult, error) {
	wait := record.WaitOf(o.stored.Event)
	return world.EventResult{Event: c.answer(o.stored.Event), Wait: &wait}, nil
}

// waitEndResult builds the answer of wait_completed.
func waitEndResult(_ context.Context, c *call, o scriptOutcome) (world.EventResult, error) {
	first := o.rest.List(0)
	created, err := record.Decode(c.req.RunID, first.Number(0), first.Text(1), first.Bytes(2))
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	wait := record.EndedWaitOf(created, o.stored.Event)
	return world.EventResult{Event: c.answer(o.stored.Event), Wait: &wait}, nil
}

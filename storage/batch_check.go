package storage

import (
	"strconv"

	"github.com/world-redis/world-redis"
)

// batchable reports whether a batch may hold events of the type.
func batchable(t world.EventType) bool {
	switch t {
	case world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventStepCompleted, world.EventStepFailed,
		world.EventWaitCreated, world.EventWaitCompleted, world.EventRunCompleted, world.EventRunFailed:
		return true
	default:
		return false
	}
}

// prepareBatch checks what can be checked of a batch without Redis. It returns for each
// step_started which event of the batch, counted from 1, creates its step, otherwise "".
func (s *Store) prepareBatch(req *world.CreateBatch) (creators []string, err error) {
	switch n := len(req.Events); {
	case n == 0:
		return nil, world.Errorf(world.CodeInvalid, "A batch needs at least one event")
	case n > world.MaxBatch:
		return nil, world.Errorf(world.CodeInvalid, "The batch has %d events; the most is %d", n, world.MaxBatch)
	}
	creators = make([]string, len(req.Events))
	seen := map[string]int{} // entity → its event, counted from 1
	for i := range req.Events {
		e := &req.Events[i]
		if !batchable(e.Type) {
			return nil, world.Errorf(world.CodeInvalid, "%s events cannot be batched", e.Type)
		}
		e.RunID, e.ResolveNone = req.RunID, req.ResolveNone
		e.EventCount, e.SinceCursor, e.PreloadEvents = nil, "", false
		if err := s.checkEvent(e); err != nil {
			return nil, err
		}
		if e.Type == world.EventStepStarted && e.Data.Has("input") {
			return nil, world.Errorf(world.CodeInvalid, "A batched step_started carries no input: the step_created before it does")
		}
		entity := e.CorrelationID
		if endsRun(e.Type) {
			entity = ""
		}
		if before := seen[entity]; before > 0 {
			if e.Type != world.EventStepStarted || req.Events[before-1].Type != world.EventStepCreated {
				return nil, world.Errorf(world.CodeInvalid, "The batch has more than one event of %q", entity)
			}
			creators[i] = strconv.Itoa(before)
		}
		seen[entity] = i + 1
	}
	return creators, nil
}

func endsRun(t world.EventType) bool {
	return t == world.EventRunCompleted || t == world.EventRunFailed
}

package recovery

import (
	"context"

	"github.com/world-redis/world-redis"
)

// logPage is how many events are read at a time, without their payloads.
const logPage = 1000

// logState is what a run waits for, according to its log.
type logState struct {
	open  map[string]struct{} // steps and waits that have not ended, by correlation id
	hooks map[string]struct{} // hooks that are live according to the log
	last  world.EventType
}

func newLogState() logState {
	return logState{open: map[string]struct{}{}, hooks: map[string]struct{}{}}
}

// WaitsForHooksOnly reports whether the run with this log has a live hook, and no open step or wait.
func WaitsForHooksOnly(events []world.Event) bool {
	first := 0
	for first < len(events) && events[first].Type != world.EventHookCreated {
		first++
	}
	if first == len(events) {
		return false // the most common case
	}
	s := newLogState()
	for i := range events {
		s.add(&events[i])
	}
	return s.waitsForHooksOnly() && len(s.hooks) > 0
}

// readLog reads and folds the log page by page. It is done once for each length of a parked run's log, see
// [world.IdleStore].
func readLog(ctx context.Context, store world.EventStore, runID string) (logState, error) {
	s := newLogState()
	page := world.PageRequest{Limit: logPage}
	for {
		events, err := store.ListEvents(ctx, world.EventQuery{RunID: runID, Page: page, ResolveNone: true})
		if err != nil {
			return s, err
		}
		for i := range events.Data {
			s.add(&events.Data[i])
		}
		if !events.HasMore {
			return s, nil
		}
		page.Cursor = events.Cursor
	}
}

func (s *logState) add(e *world.Event) {
	switch e.Type {
	case world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventWaitCreated:
		s.open[e.CorrelationID] = struct{}{}
	case world.EventStepCompleted, world.EventStepFailed, world.EventWaitCompleted:
		delete(s.open, e.CorrelationID)
	case world.EventHookCreated:
		s.hooks[e.CorrelationID] = struct{}{}
	case world.EventHookDisposed:
		delete(s.hooks, e.CorrelationID)
	}
	if e.Type != world.EventNoop && e.Type != world.EventAttrSet {
		s.last = e.Type
	}
}

// waitsForHooksOnly reports that no step and no wait is open.
func (s *logState) waitsForHooksOnly() bool { return len(s.open) == 0 }

// parked reports that the run has processed everything in its log and waits for its hooks: the last event is the
// creation of a hook, which the run itself makes.
func (s *logState) parked() bool {
	return s.waitsForHooksOnly() &&
		(s.last == world.EventHookCreated || s.last == world.EventHookDisposed || s.last == world.EventHookConflict)
}

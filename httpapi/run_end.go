package httpapi

import "github.com/world-redis/world-redis"

// runEnded lets the queue forget what waits for a run, when an answer says that it has ended.
// The reader of the answer need not wait for that.
func (a *api) runEnded(runID string) {
	if a.deps.Forget != nil {
		a.deps.Forget.ForgetRun(runID)
	}
}

// runEndedBy looks at what an event has done.
func (a *api) runEndedBy(t world.EventType, runID string) {
	if t == world.EventRunCompleted || t == world.EventRunFailed || t == world.EventRunCancelled {
		a.runEnded(runID)
	}
}

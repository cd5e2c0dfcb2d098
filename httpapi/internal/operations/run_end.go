package operations

import "github.com/world-redis/world-redis"

// runEnded lets the queue forget what waits for a run, when an answer says that it has ended.
// The reader of the answer need not wait for that.
func (a *API) runEnded(runID string) {
	if a.Deps.Forget != nil {
		a.Deps.Forget.ForgetRun(runID)
	}
}

// runEndedBy looks at what an event has done.
func (a *API) runEndedBy(t world.EventType, runID string) {
	if t == world.EventRunCompleted || t == world.EventRunFailed || t == world.EventRunCancelled {
		a.runEnded(runID)
	}
}

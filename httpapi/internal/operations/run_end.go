package operations

import "github.com/world-redis/world-redis"

// runEnded notifies the queue that a run has ended, so it can remove the messages of the run.
// The caller's answer does not wait for that.
func (a *API) runEnded(runID string) {
	if a.Deps.Forget != nil {
		a.Deps.Forget.ForgetRun(runID)
	}
}

// runEndedBy calls runEnded if an event of this type ends its run.
func (a *API) runEndedBy(t world.EventType, runID string) {
	if t == world.EventRunCompleted || t == world.EventRunFailed || t == world.EventRunCancelled {
		a.runEnded(runID)
	}
}

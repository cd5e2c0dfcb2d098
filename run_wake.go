package world

import "context"

// RunWake is the result of waking a run.
type RunWake struct {
	Run       Run    // before the wake-up, without input and output
	MessageID string // of the wake-up: a new one, or one that was already waiting for delivery
}

// RunWaker wakes runs on request.
type RunWaker interface {
	// WakeRun queues a plain wake-up of a run, so that its app reads the log and continues. If a wake-up of the run
	// already waits for delivery, no second one is added. A run that does not exist is CodeRunNotFound, one that has
	// ended CodeRunExpired.
	WakeRun(ctx context.Context, runID string) (RunWake, error)
}

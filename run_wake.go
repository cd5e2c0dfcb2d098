package world

import "context"

// RunWake is what was done to wake a run.
type RunWake struct {
	Run       Run    // as it was, without input and output
	MessageID string // of the wake-up: a new one, or one that waited to be delivered already
}

// RunWaker wakes runs on request.
type RunWaker interface {
	// WakeRun queues a plain wake-up of a run, which has its app read the log and go on. While one waits to be delivered
	// another one is folded into it. A run that does not exist is CodeRunNotFound, one that has ended CodeRunExpired.
	WakeRun(ctx context.Context, runID string) (RunWake, error)
}

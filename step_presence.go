package world

import "context"

// StepRef names a step of a run. Without a RunID, it means the run that is known to have a step of that id.
type StepRef struct{ RunID, StepID string }

// StepPresence says whether a step exists.
type StepPresence struct {
	Run  RunStatus // empty if the run does not exist
	Step bool      // the log has an event of the step
}

// StepFinder looks up steps, for messages to them and for streams that they closed.
type StepFinder interface {
	// FindSteps returns the presence of each step, in the order of the references. Its cost does not depend on the
	// length of the log.
	FindSteps(ctx context.Context, refs []StepRef) ([]StepPresence, error)
}

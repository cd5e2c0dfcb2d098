package world

import "context"

// StepRef names a step of a run. Without a run it is the run that is known to have a step of that id.
type StepRef struct{ RunID, StepID string }

// StepPresence says whether a step exists.
type StepPresence struct {
	Run  RunStatus // empty: there is no such run
	Step bool      // the log has an event of the step
}

// StepFinder looks steps up for those who hold messages for them, or streams that they closed.
type StepFinder interface {
	// FindSteps returns the presence of each step, in the order of the references, at the same
	// cost for a long log as for a short one.
	FindSteps(ctx context.Context, refs []StepRef) ([]StepPresence, error)
}

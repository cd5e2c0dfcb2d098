package world

import "context"

// StepRef names a step of a run.
type StepRef struct{ RunID, StepID string }

// StepPresence says whether the step that a message is for exists.
type StepPresence struct {
	Run  RunStatus // empty: there is no such run
	Step bool      // the log has an event of the step
}

// StepFinder looks steps up for those who hold messages for them.
type StepFinder interface {
	// FindSteps returns the presence of each step, in the order of the references, at the same
	// cost for a long log as for a short one.
	FindSteps(ctx context.Context, refs []StepRef) ([]StepPresence, error)
}

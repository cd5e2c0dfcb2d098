package world

import "context"

// StepStatus is the state of a step.
type StepStatus string

// The step statuses of the contract (contract §2.2).
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running"
	StepCompleted StepStatus = "completed"
	StepFailed    StepStatus = "failed"
	StepCancelled StepStatus = "cancelled"
)

// Terminal reports whether no further transition is legal.
func (s StepStatus) Terminal() bool {
	return s == StepCompleted || s == StepFailed || s == StepCancelled
}

// Step is one step of a run; its id is the correlation id of its events.
type Step struct {
	RunID       string
	StepID      string
	StepName    string
	Status      StepStatus
	Input       Raw
	Output      Raw
	Error       Raw // {message, stack?} up to spec 3, the SDK's bytes above; kept after a later success
	Attempt     int // 0 when created, +1 at every accepted step_started
	SpecVersion int
	CreatedAt   Millis
	UpdatedAt   Millis
	StartedAt   Millis // written once, by the first step_started
	CompletedAt Millis
	RetryAfter  Millis // set by step_retrying, removed by step_started
}

// StepQuery selects the steps of one run, newest first by default.
type StepQuery struct {
	RunID       string
	Page        PageRequest
	ResolveNone bool
}

// StepStore reads steps. They are written only through [EventStore.CreateEvent].
type StepStore interface {
	// GetStep returns one step, or CodeStepNotFound. With an empty runID, the step is looked up by its id alone.
	GetStep(ctx context.Context, runID, stepID string, resolveNone bool) (Step, error)
	// ListSteps returns a page; an unknown run has no steps, which is no error.
	ListSteps(ctx context.Context, q StepQuery) (Page[Step], error)
}

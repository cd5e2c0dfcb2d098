package world

import "context"

// The event types that only SDKs from before event sourcing write (contract §9).
const (
	LegacyWorkflowStarted   EventType = "workflow_started"
	LegacyWorkflowCompleted EventType = "workflow_completed"
	LegacyWorkflowFailed    EventType = "workflow_failed"
)

// CreateLegacyRun is a runs.create call of spec version 1.
type CreateLegacyRun struct {
	DeploymentID     string
	WorkflowName     string
	Input            Raw // a plain array
	ExecutionContext Raw // nil: none
	RequestID        string
	ResolveNone      bool
}

// UpdateLegacyRun is a runs.update, cancel, pause or resume call. Zero fields stay as they are.
type UpdateLegacyRun struct {
	RunID            string
	Status           RunStatus
	Output           Raw
	Error            Raw // a text or {message, stack?, code?}
	ExecutionContext Raw
	Resume           bool // Status is running, and only a paused run may get there
	RequestID        string
	ResolveNone      bool
}

// CreateLegacyStep is a steps.create call.
type CreateLegacyStep struct {
	RunID, StepID, StepName string
	Input                   Raw
	RequestID               string
	ResolveNone             bool
}

// UpdateLegacyStep is a steps.update call. Zero fields stay as they are.
type UpdateLegacyStep struct {
	RunID, StepID string
	Status        StepStatus
	Attempt       *int // counted by the client
	Output        Raw
	Error         Raw // a text or {message, stack?, code?}
	RetryAfter    Millis
	RequestID     string
	ResolveNone   bool
}

// CreateLegacyEvent is an events.create call: the event is appended, nothing else happens.
type CreateLegacyEvent struct {
	RunID         string
	Type          EventType
	CorrelationID string
	Data          Fields
	RequestID     string
	ResolveNone   bool
}

// CreateLegacyHook is a hooks.create call. Its event, if any, comes in a call of its own.
type CreateLegacyHook struct {
	RunID, HookID, Token string
	Metadata             Raw
	RequestID            string
	ResolveNone          bool
}

// DisposeLegacyHook is a hooks.dispose call.
type DisposeLegacyHook struct {
	HookID      string
	RequestID   string
	ResolveNone bool
}

// LegacyStore is what SDKs from before event sourcing call (spec version 1, contract §9).
// There the caller changes the entities itself, and events are a log beside them. Reads are
// those of the other interfaces. A run that was not made by these calls is not changed by
// them: CodeConflict.
//
// Each call is atomic, and the same call with the same RequestID changes nothing and gets
// the first answer. A run or step that has ended keeps its state: setting it again to the
// state that it has changes nothing, any other is CodeConflict.
type LegacyStore interface {
	// CreateLegacyRun makes a pending run and its id.
	CreateLegacyRun(ctx context.Context, req CreateLegacyRun) (Run, error)
	// UpdateLegacyRun changes a run, or CodeRunNotFound. The first running sets startedAt, an end
	// sets completedAt and removes the hooks. Resuming a run that is not paused is CodeNotFound.
	UpdateLegacyRun(ctx context.Context, req UpdateLegacyRun) (Run, error)
	// CreateLegacyStep makes a pending step with attempt 0. One that exists is CodeConflict, a run
	// that has ended CodeRunExpired.
	CreateLegacyStep(ctx context.Context, req CreateLegacyStep) (Step, error)
	// UpdateLegacyStep changes a step, or CodeStepNotFound. The first running sets startedAt, an
	// end sets completedAt.
	UpdateLegacyStep(ctx context.Context, req UpdateLegacyStep) (Step, error)
	// CreateLegacyEvent appends an event. On a run that has ended, one that announces work to
	// come (step_started, wait_created, hook_created, hook_received) is CodeRunExpired.
	CreateLegacyEvent(ctx context.Context, req CreateLegacyEvent) (Event, error)
	// CreateLegacyHook makes a hook. A token or id that a live hook has is CodeConflict, a run
	// that has ended CodeRunExpired.
	CreateLegacyHook(ctx context.Context, req CreateLegacyHook) (Hook, error)
	// DisposeLegacyHook removes a hook and returns it; a missing one is CodeHookNotFound.
	DisposeLegacyHook(ctx context.Context, req DisposeLegacyHook) (Hook, error)
}

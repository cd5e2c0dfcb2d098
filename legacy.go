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
	ExecutionContext Raw // nil if there is none
	RequestID        string
	ResolveNone      bool
}

// UpdateLegacyRun is a runs.update, cancel, pause or resume call. Zero fields are left unchanged.
type UpdateLegacyRun struct {
	RunID            string
	Status           RunStatus
	Output           Raw
	Error            Raw // a string or {message, stack?, code?}
	ExecutionContext Raw
	Resume           bool // Status is running, and the run must be paused
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

// UpdateLegacyStep is a steps.update call. Zero fields are left unchanged.
type UpdateLegacyStep struct {
	RunID, StepID string
	Status        StepStatus
	Attempt       *int // counted by the client
	Output        Raw
	Error         Raw // a string or {message, stack?, code?}
	RetryAfter    Millis
	RequestID     string
	ResolveNone   bool
}

// CreateLegacyEvent is an events.create call: the event is appended, and nothing else happens.
type CreateLegacyEvent struct {
	RunID         string
	Type          EventType
	CorrelationID string
	Data          Fields
	RequestID     string
	ResolveNone   bool
}

// CreateLegacyHook is a hooks.create call. Its event, if any, is a separate call.
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

// LegacyStore has the calls of SDKs from before event sourcing (spec version 1, contract §9). There the caller
// changes the entities itself, and events are only a log. Reads use the other interfaces. These calls change only
// runs that they created; for any other run they return CodeConflict.
//
// Each call is atomic. Repeating it with the same RequestID changes nothing and returns the first answer. A run or
// step that has ended keeps its state: setting the same state again changes nothing, and any other state is
// CodeConflict.
type LegacyStore interface {
	// CreateLegacyRun creates a pending run with a new id.
	CreateLegacyRun(ctx context.Context, req CreateLegacyRun) (Run, error)
	// UpdateLegacyRun changes a run, or returns CodeRunNotFound. The first status running sets startedAt; a terminal
	// status sets completedAt and removes the hooks. Resuming a run that is not paused is CodeNotFound.
	UpdateLegacyRun(ctx context.Context, req UpdateLegacyRun) (Run, error)
	// CreateLegacyStep creates a pending step with attempt 0. It returns CodeConflict if the step exists, and
	// CodeRunExpired if the run has ended.
	CreateLegacyStep(ctx context.Context, req CreateLegacyStep) (Step, error)
	// UpdateLegacyStep changes a step, or returns CodeStepNotFound. The first status running sets startedAt; a
	// terminal status sets completedAt.
	UpdateLegacyStep(ctx context.Context, req UpdateLegacyStep) (Step, error)
	// CreateLegacyEvent appends an event. After the run has ended, an event that announces further work
	// (step_started, wait_created, hook_created, hook_received) is CodeRunExpired.
	CreateLegacyEvent(ctx context.Context, req CreateLegacyEvent) (Event, error)
	// CreateLegacyHook creates a hook. It returns CodeConflict if a live hook has the token or id, and CodeRunExpired
	// if the run has ended.
	CreateLegacyHook(ctx context.Context, req CreateLegacyHook) (Hook, error)
	// DisposeLegacyHook removes a hook and returns it, or returns CodeHookNotFound.
	DisposeLegacyHook(ctx context.Context, req DisposeLegacyHook) (Hook, error)
}

package world

import (
	"context"
	"time"
)

// RunStatus is the state of a run: pending → running → one of the three terminal states, and never back. Only a run
// of the legacy calls can be paused.
type RunStatus string

// The run statuses of the contract (contract §2.1).
const (
	RunPending   RunStatus = "pending"
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
	RunPaused    RunStatus = "paused" // running → paused → running, see [LegacyStore]
)

// Terminal reports whether no further transition is legal.
func (s RunStatus) Terminal() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}

// Run is one workflow run (contract §2.1). Optional fields are zero when absent. They are then left out on the wire,
// never sent as null.
type Run struct {
	RunID               string
	Status              RunStatus
	DeploymentID        string
	WorkflowName        string
	SpecVersion         int // 0 if absent (a legacy run)
	ExecutionContext    Raw // a plain map
	Input               Raw
	Output              Raw // only when completed
	Error               Raw // only when failed: {message, stack?, code?} up to spec 3, the SDK's bytes above
	ErrorCode           string
	Attributes          Raw // a map of strings; nil for runs below spec 4
	EncryptionPublicKey string
	CreatedAt           Millis
	UpdatedAt           Millis
	StartedAt           Millis // written once, by the first run_started
	CompletedAt         Millis // set only in a terminal state
	ExpiredAt           Millis
}

// RunQuery selects runs; zero fields do not filter.
type RunQuery struct {
	WorkflowName string
	Statuses     []RunStatus // any of these
	NoMatch      bool        // the request has an empty list of statuses, so nothing matches
	// CreatedFrom and CreatedBefore bound the time in the run's id (createdAt, for an id without one): from ≤ time < before.
	CreatedFrom, CreatedBefore Millis
	Page                       PageRequest
	ResolveNone                bool
}

// Limits of calls on many runs.
const (
	MaxGetRuns      = 1_000
	MaxCancelRuns   = 500
	MaxCancelReason = 512 // characters as JavaScript counts them: UTF-16 code units
	MaxAwaitRun     = time.Minute
)

// CancelRuns is one call that cancels several runs.
type CancelRuns struct {
	RunIDs    []string // 1 to MaxCancelRuns ids, all different
	Reason    string   // stored in each run_cancelled event; empty if none
	RequestID string   // of this call; a repeat with the same id gets the same outcomes
}

// CancelOutcome is the result for one run of a [CancelRuns] call.
type CancelOutcome string

// The outcomes (contract §1.4).
const (
	Cancelled        CancelOutcome = "cancelled"         // by this call
	AlreadyCancelled CancelOutcome = "already_cancelled" // by another one
	NotCancellable   CancelOutcome = "not_cancellable"   // it has ended in another state
	CancelNotFound   CancelOutcome = "not_found"
	CancelFailed     CancelOutcome = "failed"
)

// CancelResult is the outcome for one run.
type CancelResult struct {
	RunID     string
	Outcome   CancelOutcome
	Status    RunStatus // with NotCancellable
	Code      Code      // with CancelFailed
	Retryable bool      // with CancelFailed: a retry may succeed
}

// RunStore reads runs. They are written through [EventStore.CreateEvent], or through
// [LegacyStore] by SDKs from before event sourcing.
type RunStore interface {
	// GetRun returns one run, or CodeRunNotFound. With resolveNone, input and output are left out and not read from
	// Redis; the error stays.
	GetRun(ctx context.Context, runID string, resolveNone bool) (Run, error)
	// GetRuns returns runs in the order of their ids, with nil for those that do not exist. There are at most
	// MaxGetRuns ids, all different (otherwise CodeRepeatedID). If the answer would be too large, runs at its end are
	// left out, and the caller requests them again. It has at least one run.
	GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*Run, error)
	// AwaitRun returns the run as soon as it has ended, or in its current state after the wait, which is at most
	// MaxAwaitRun; 0 means immediately. For a run that does not exist it returns CodeRunNotFound without waiting.
	AwaitRun(ctx context.Context, runID string, wait time.Duration, resolveNone bool) (Run, error)
	// CancelRuns cancels runs and returns the result for each, in their order. It returns an error only for an
	// invalid call.
	CancelRuns(ctx context.Context, req CancelRuns) ([]CancelResult, error)
	// ListRuns returns a page, newest first by default.
	ListRuns(ctx context.Context, q RunQuery) (Page[Run], error)
}

package world

import (
	"context"
	"time"
)

// RunStatus is a run's place in its life: pending → running → one of the three
// terminal states, and never back. Only a run of the legacy calls can be paused.
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

// Run is one workflow run (contract §2.1). Optional fields are zero when absent and
// must then be left out on the wire, never sent as null.
type Run struct {
	RunID               string
	Status              RunStatus
	DeploymentID        string
	WorkflowName        string
	SpecVersion         int // 0: absent (a legacy run)
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
	CompletedAt         Millis // only when terminal
	ExpiredAt           Millis
}

// RunQuery selects runs; zero fields do not filter.
type RunQuery struct {
	WorkflowName string
	Statuses     []RunStatus // any of these
	NoMatch      bool        // an empty status list was asked for: nothing matches
	Page         PageRequest
	ResolveNone  bool
}

// Limits of the calls that take many runs.
const (
	MaxGetRuns      = 1_000
	MaxCancelRuns   = 500
	MaxCancelReason = 512 // characters as JavaScript counts them: UTF-16 units
	MaxAwaitRun     = time.Minute
)

// CancelRuns is one call that cancels many runs.
type CancelRuns struct {
	RunIDs    []string // 1 to MaxCancelRuns of them, all different
	Reason    string   // kept in each run_cancelled event; empty: none
	RequestID string   // of this call; the same id again gets the same outcomes
}

// CancelOutcome is what became of one run of a [CancelRuns] call.
type CancelOutcome string

// The outcomes (contract §1.4).
const (
	Cancelled        CancelOutcome = "cancelled"         // by this call
	AlreadyCancelled CancelOutcome = "already_cancelled" // by another one
	NotCancellable   CancelOutcome = "not_cancellable"   // it has ended otherwise
	CancelNotFound   CancelOutcome = "not_found"
	CancelFailed     CancelOutcome = "failed"
)

// CancelResult is the outcome for one run.
type CancelResult struct {
	RunID     string
	Outcome   CancelOutcome
	Status    RunStatus // with NotCancellable
	Code      Code      // with CancelFailed
	Retryable bool      // with CancelFailed: trying again may help
}

// RunStore reads runs. They are written through [EventStore.CreateEvent], or through
// [LegacyStore] by SDKs from before event sourcing.
type RunStore interface {
	// GetRun returns one run, or CodeRunNotFound. With resolveNone the input and
	// output are left out and their bytes are not read from Redis; error stays.
	GetRun(ctx context.Context, runID string, resolveNone bool) (Run, error)
	// GetRuns returns runs in the order of their ids, nil for those that do not exist. There are at most MaxGetRuns ids, all
	// different (CodeRepeatedID). What would be too much for one answer is left out at the end: ask for the rest. At least one
	// is there.
	GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*Run, error)
	// AwaitRun returns the run the moment it has ended, or as it is after the wait, which
	// is cut to MaxAwaitRun; 0 is now. A run that does not exist is CodeRunNotFound at once.
	AwaitRun(ctx context.Context, runID string, wait time.Duration, resolveNone bool) (Run, error)
	// CancelRuns cancels runs and says for each, in their order, what became of it. An
	// error is returned only for a call that cannot be made as it is.
	CancelRuns(ctx context.Context, req CancelRuns) ([]CancelResult, error)
	// ListRuns returns a page, newest first by default.
	ListRuns(ctx context.Context, q RunQuery) (Page[Run], error)
}

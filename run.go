package world

import "context"

// RunStatus is a run's place in its life: pending → running → one of the three
// terminal states, and never back.
type RunStatus string

// The run statuses of the contract (contract §2.1).
const (
	RunPending   RunStatus = "pending"
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
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

// RunStore reads runs. They are written only through [EventStore.CreateEvent].
type RunStore interface {
	// GetRun returns one run, or CodeRunNotFound. With resolveNone the input and
	// output are left out and their bytes are not read from Redis; error stays.
	GetRun(ctx context.Context, runID string, resolveNone bool) (Run, error)
	// ListRuns returns a page, newest first by default.
	ListRuns(ctx context.Context, q RunQuery) (Page[Run], error)
}

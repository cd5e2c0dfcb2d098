package world

import "context"

// AnsweredKind is what an answered call did.
type AnsweredKind string

// The kinds of answered calls.
const (
	AnsweredStart  AnsweredKind = "start"  // a run was created
	AnsweredResume AnsweredKind = "resume" // a hook received a payload
)

// AnsweredCall is a call from outside that was answered as done: nobody repeats it, so nobody notices when Redis loses what it
// wrote. A failover does, when the new master had not heard of it yet.
type AnsweredCall struct {
	Kind         AnsweredKind
	At           Millis // of the event that it wrote
	RunID        string
	WorkflowName string // empty: not known
	EventID      string
	HookID       string // of a resume, like the fields below
	Token        string
	ResumeID     string
}

// LossStore looks answered calls up, and keeps a list of those that are lost.
type LossStore interface {
	// MissingCalls tells for each call whether what it wrote is gone: there is no such run, or another event or none where the
	// hook received the payload.
	MissingCalls(ctx context.Context, calls []AnsweredCall) ([]bool, error)
	// NoteLost enters calls into the list. One that is there already is not entered again.
	NoteLost(ctx context.Context, calls []AnsweredCall) error
	// ListLost lists the last MaxLostCalls of the last day, the newest first.
	ListLost(ctx context.Context, p PageRequest) (Page[AnsweredCall], error)
}

// MaxLostCalls bounds the list of lost calls.
const MaxLostCalls = 10_000

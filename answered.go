package world

import "context"

// AnsweredKind is what an answered call did.
type AnsweredKind string

// The kinds of answered calls.
const (
	AnsweredStart  AnsweredKind = "start"  // a run was created
	AnsweredResume AnsweredKind = "resume" // a hook received a payload
	AnsweredEnd    AnsweredKind = "end"    // a run ended; it is never listed as lost, because the run goes on
)

// AnsweredCall is a call from outside that got a successful answer. Its caller will not repeat it, so nobody would
// notice if Redis lost what it wrote: a failover loses what had not yet reached the new master.
type AnsweredCall struct {
	Kind         AnsweredKind
	At           Millis // time of the event that the call wrote
	RunID        string
	WorkflowName string // empty if not known
	EventID      string
	HookID       string // set for a resume, like the fields below
	Token        string
	ResumeID     string
}

// LossStore looks up answered calls and keeps a list of the lost ones.
type LossStore interface {
	// MissingCalls reports for each call, in order, whether its write is gone: the run does not exist, or the hook's
	// event is missing or is another one.
	MissingCalls(ctx context.Context, calls []AnsweredCall) ([]bool, error)
	// NoteLost adds calls to the list. A call that is already there is not added again.
	NoteLost(ctx context.Context, calls []AnsweredCall) error
	// ListLost lists the last MaxLostCalls of the last day, the newest first.
	ListLost(ctx context.Context, p PageRequest) (Page[AnsweredCall], error)
	// Relist enters the runs of calls again into the lists from which recovery works, if they have not ended and are
	// not parked: Redis may have lost the entries but not what the calls wrote. A run that goes on although its end
	// was answered also gets the tokens of its hooks again. It returns how many of these there are.
	Relist(ctx context.Context, calls []AnsweredCall) (takenBack int, err error)
}

// MaxLostCalls bounds the list of lost calls.
const MaxLostCalls = 10_000

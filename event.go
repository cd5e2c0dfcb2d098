package world

import (
	"context"
	"strings"
)

// EventType names what happened (contract §2.5).
type EventType string

// The event types of the contract. hook_conflict and noop are written by the World only.
const (
	EventRunCreated    EventType = "run_created"
	EventRunStarted    EventType = "run_started"
	EventRunCompleted  EventType = "run_completed"
	EventRunFailed     EventType = "run_failed"
	EventRunCancelled  EventType = "run_cancelled"
	EventAttrSet       EventType = "attr_set"
	EventStepCreated   EventType = "step_created"
	EventStepStarted   EventType = "step_started"
	EventStepRetrying  EventType = "step_retrying"
	EventStepCompleted EventType = "step_completed"
	EventStepFailed    EventType = "step_failed"
	EventHookCreated   EventType = "hook_created"
	EventHookReceived  EventType = "hook_received"
	EventHookDisposed  EventType = "hook_disposed"
	EventHookConflict  EventType = "hook_conflict"
	EventWaitCreated   EventType = "wait_created"
	EventWaitCompleted EventType = "wait_completed"
	EventNoop          EventType = "noop"
)

// payloadKeys is the one eventData key of a type that resolveData 'none' removes.
var payloadKeys = map[EventType]string{
	EventRunCreated: "input", EventRunStarted: "input", EventRunCompleted: "output", EventRunFailed: "error",
	EventStepCreated: "input", EventStepStarted: "input", EventStepCompleted: "result",
	EventStepFailed: "error", EventStepRetrying: "error",
	EventHookCreated: "metadata", EventHookReceived: "payload",
}

// PayloadKey returns the eventData key that holds the payload of the type, or "".
func (t EventType) PayloadKey() string { return payloadKeys[t] }

// Known reports whether a client may send this type.
func (t EventType) Known() bool {
	switch t {
	case EventRunCreated, EventRunStarted, EventRunCompleted, EventRunFailed, EventRunCancelled, EventAttrSet,
		EventStepCreated, EventStepStarted, EventStepRetrying, EventStepCompleted, EventStepFailed,
		EventHookCreated, EventHookReceived, EventHookDisposed, EventWaitCreated, EventWaitCompleted:
		return true
	default:
		return false
	}
}

// OfEntity reports whether events of the type belong to one step, hook or wait, which their correlation id names.
func (t EventType) OfEntity() bool {
	return strings.HasPrefix(string(t), "step_") || strings.HasPrefix(string(t), "hook_") || strings.HasPrefix(string(t), "wait_")
}

// requiredData are the eventData keys that an event of a type must have (contract §2.5).
var requiredData = map[EventType][]string{
	EventRunCreated:    {"deploymentId", "workflowName", "input"},
	EventRunFailed:     {"error"},
	EventAttrSet:       {"changes", "writer"},
	EventStepCreated:   {"stepName", "input"},
	EventStepRetrying:  {"error"},
	EventStepCompleted: {"result"},
	EventStepFailed:    {"error"},
	EventHookCreated:   {"token"},
	EventHookReceived:  {"payload"},
	EventWaitCreated:   {"resumeAt"},
}

// RequiredData returns the eventData keys that an event of the type must have. The list is shared and not to be changed.
func (t EventType) RequiredData() []string { return requiredData[t] }

// Event is one entry of a run's log. Events never change.
type Event struct {
	EventID       string // wevt_<ULID> for runs below spec 6, evnt_<26 digits> from there on
	RunID         string
	Type          EventType
	CorrelationID string
	SpecVersion   int
	CreatedAt     Millis // server time, never decreasing along a log
	OccurredAt    Millis // what the client claimed, 0 when it did not
	ResumeID      string // hook_received only
	Data          Fields // eventData; moments in it are epoch milliseconds as numbers
}

// CreateEvent is one events.create call.
type CreateEvent struct {
	RunID         string // empty only for run_created: the World then mints one
	RequestID     string // of this call; the same id again gets the first answer
	Type          EventType
	CorrelationID string
	SpecVersion   int // 0: not given
	Data          Fields
	OccurredAt    Millis
	ResumeID      string

	V1Compat            bool
	ResolveNone         bool // filters the answer's entities and events
	EventCount          *int64
	SinceCursor         string
	SkipPreload         bool
	PreloadEvents       bool
	ResumePayloadDigest string
	LogEnd              *LogEnd // nil: the caller does not say what it has been given
}

// LogEnd is the last event that a caller has been given of a log. Where no event stands at that position, or
// another one, the log has lost its end, and what the caller wants to append was decided on what is gone: it
// gets CodePrecondition, and nothing is written. A log that has more events is no reason to refuse.
type LogEnd struct {
	Position  int    // counted from 0
	CreatedAt Millis // 0: not known
}

// EventResult is the answer to a CreateEvent. What is nil was not touched.
type EventResult struct {
	Event       *Event
	Run         *Run
	Step        *Step
	Hook        *Hook
	Wait        *Wait
	Events      []Event // nil: no log attached; else complete when HasMore is false
	Cursor      string
	HasMore     bool
	MaxEvents   int // sent whenever Run is; 0: leave out
	StepCreated bool
}

// CreateBatch is one events.createBatch call (contract §3.9). Of each event only what describes
// the event counts: type, correlation id, spec version, data and OccurredAt.
type CreateBatch struct {
	RunID       string
	RequestID   string // of this call; the same id again gets the first answer
	Events      []CreateEvent
	ResolveNone bool
	LogEnd      *LogEnd // as in CreateEvent, for the batch as a whole
}

// BatchItem is what became of one event of a batch: a refusal in Err, else the answer that
// CreateEvent would have given.
type BatchItem struct {
	Result EventResult
	Err    *Error
}

// EventQuery selects events of one run, oldest first by default.
//
// With CorrelationID set it selects that entity's events; RunID may then be empty.
// A zero limit means everything that is left, up to the page's size limit.
type EventQuery struct {
	RunID         string
	CorrelationID string
	Page          PageRequest
	ResolveNone   bool
}

// EventStore appends to and reads the log of a run.
type EventStore interface {
	// CreateEvent checks, applies and appends in one atomic step: no reader ever sees
	// the entity without the event or the reverse. Calling it again with the same
	// RequestID changes nothing and returns the first answer, whatever LogEnd says.
	CreateEvent(ctx context.Context, req CreateEvent) (EventResult, error)
	// CreateBatch appends several events of one run in one atomic step, in their order on
	// positions that follow each other, and answers for each in that order. An event that
	// is refused is left out and changes nothing; a step_started whose step_created of the
	// same batch is refused, is refused, too. The whole batch is refused with CodeInvalid
	// when it is empty, or holds what a batch may not: run_created, run_started,
	// run_cancelled, attr_set or an event of a hook, a step_started with an input, or two events
	// of one entity, except a step_created and the step_started after it.
	CreateBatch(ctx context.Context, req CreateBatch) ([]BatchItem, error)
	// GetEvent returns one event, or CodeEventNotFound.
	GetEvent(ctx context.Context, runID, eventID string, resolveNone bool) (Event, error)
	// ListEvents returns a page in log order; an unknown run has an empty log. A cursor whose event does not
	// stand in the log any more gets CodeInvalid.
	ListEvents(ctx context.Context, q EventQuery) (Page[Event], error)
}

// Store is the whole of the storage contract.
type Store interface {
	RunStore
	StepStore
	HookStore
	EventStore
	LegacyStore
}

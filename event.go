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

// payloadKeys has the eventData key that resolveData 'none' removes, for each type that has one.
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
	OccurredAt    Millis // as the client reported it; 0 if it did not
	ResumeID      string // hook_received only
	Data          Fields // eventData; timestamps in it are numbers, in epoch milliseconds
}

// CreateEvent is one events.create call.
type CreateEvent struct {
	RunID         string // empty only for run_created: the World then generates an id
	RequestID     string // of this call; a repeat with the same id gets the first answer
	Type          EventType
	CorrelationID string
	SpecVersion   int // 0 if not given
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
	LogEnd              *LogEnd // nil if the caller does not say which events it has
}

// LogEnd is the last event of a log that a caller has received. If the log has no event at that position, or a
// different one, the log has lost its end, and the caller decided on events that are gone. The call is then refused
// with CodePrecondition and writes nothing. A log with more events is not refused.
type LogEnd struct {
	Position  int    // counted from 0
	CreatedAt Millis // 0 if not known
}

// EventResult is the answer to a CreateEvent. Entities that are nil were not changed.
type EventResult struct {
	Event       *Event
	Run         *Run
	Step        *Step
	Hook        *Hook
	Wait        *Wait
	Events      []Event // nil: no log attached; otherwise complete when HasMore is false
	Cursor      string
	HasMore     bool
	MaxEvents   int // sent whenever Run is; 0 means it is left out
	StepCreated bool
}

// CreateBatch is one events.createBatch call (contract §3.9). Of each event only the fields that describe the event
// are used: type, correlation id, spec version, data and OccurredAt.
type CreateBatch struct {
	RunID       string
	RequestID   string // of this call; a repeat with the same id gets the first answer
	Events      []CreateEvent
	ResolveNone bool
	LogEnd      *LogEnd // as in CreateEvent, for the batch as a whole
}

// BatchItem is the result of one event of a batch: a refusal in Err, otherwise the answer that CreateEvent would have
// given.
type BatchItem struct {
	Result EventResult
	Err    *Error
}

// EventQuery selects events of one run, oldest first by default.
//
// With CorrelationID set it selects that entity's events; RunID may then be empty.
// A zero limit means all remaining events, up to the page's size limit.
type EventQuery struct {
	RunID         string
	CorrelationID string
	Page          PageRequest
	ResolveNone   bool
}

// EventStore appends to and reads the log of a run.
type EventStore interface {
	// CreateEvent checks, applies and appends in one atomic step: no reader ever sees the entity without the event,
	// or the event without the entity. Calling it again with the same RequestID changes nothing and returns the first
	// answer, whatever LogEnd says.
	CreateEvent(ctx context.Context, req CreateEvent) (EventResult, error)
	// CreateBatch appends several events of one run in one atomic step, in order and on consecutive positions, and
	// returns a result for each in that order. A refused event is left out and changes nothing. If a step_created is
	// refused, the step_started of that step in the same batch is refused, too. The whole batch is refused with
	// CodeInvalid if it is empty or contains what a batch may not: run_created, run_started, run_cancelled, attr_set,
	// an event of a hook, a step_started with an input, or two events of one entity other than a step_created
	// followed by its step_started.
	CreateBatch(ctx context.Context, req CreateBatch) ([]BatchItem, error)
	// GetEvent returns one event, or CodeEventNotFound.
	GetEvent(ctx context.Context, runID, eventID string, resolveNone bool) (Event, error)
	// ListEvents returns a page in log order; an unknown run has an empty log. A cursor whose event is no longer in
	// the log is refused with CodeInvalid.
	ListEvents(ctx context.Context, q EventQuery) (Page[Event], error)
}

// Store is the complete storage contract.
type Store interface {
	RunStore
	StepStore
	HookStore
	EventStore
	LegacyStore
}

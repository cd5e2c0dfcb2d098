package world

import "context"

// MessageState is the state of a message in the queue (docs/queue.md).
type MessageState string

// The states of a message.
const (
	MessagePending       MessageState = "pending"   // is delivered as soon as a slot is free
	MessageActive        MessageState = "active"    // is being delivered
	MessageScheduled     MessageState = "scheduled" // delayed before its first delivery
	MessageRetry         MessageState = "retry"     // delayed before another delivery
	MessageParked        MessageState = "parked"    // a wake-up that waits until another one of its run has ended
	MessageWaitingForApp MessageState = "stalled"   // waits for an app
	MessageDead          MessageState = "dead"      // set aside as undeliverable
	MessageCompleted     MessageState = "completed" // done; the last ones are kept for a while
)

// MessageStates returns all states, in the order in which a list of all messages shows them.
func MessageStates() []MessageState {
	return []MessageState{
		MessageActive, MessagePending, MessageRetry, MessageWaitingForApp, MessageScheduled, MessageParked, MessageDead, MessageCompleted,
	}
}

// MessageInfo is everything known about a message, except its body.
type MessageInfo struct {
	MessageID      string
	Kind           Kind
	QueueName      string
	State          MessageState
	RunID          string // empty if it belongs to no run
	StepID         string
	DeploymentID   string
	IdempotencyKey string
	EnqueuedAt     Millis
	NextAt         Millis // time of the next delivery; 0 if it is not delayed
	EndedAt        Millis // set if it is dead or completed
	Attempt        int    // number of the current or next delivery; once it has ended, of the last one
	Failed         int    // deliveries that were charged
	Rescheduled    int    // times that the app rescheduled it
	Reason         string // why the last delivery did not succeed
	WaitsFor       string // with MessageWaitingForApp: the deployment; empty if it names none
	Size           int    // of the body, in bytes
	ContentType    string
}

// MessageQuery selects messages; zero fields do not filter.
type MessageQuery struct {
	Kind  Kind
	State MessageState
	RunID string // applied to the messages that the other fields select
	Page  PageRequest
}

// QueueDepth is the number of messages in a queue, by state.
type QueueDepth struct {
	Kind          Kind
	Queue         string // its name in asynq
	Paused        bool
	Pending       int64  // to be delivered now
	Active        int64  // being delivered
	Scheduled     int64  // delayed before their first delivery
	Retry         int64  // delayed before another delivery
	WaitingForApp int64  // those of Retry that wait for an app
	Dead          int64  // set aside as undeliverable
	Completed     int64  // done and still kept
	Oldest        Millis // when the oldest pending message became pending; 0 if there is none
}

// RedriveOutcome is the result of redelivering a dead message.
type RedriveOutcome string

// The outcomes of a redrive.
const (
	Redriven       RedriveOutcome = "redriven"  // it is pending, and its failures are reset
	RedriveNotDead RedriveOutcome = "not_dead"  // it is alive, done or gone, perhaps through an earlier redrive
	RedriveKeyHeld RedriveOutcome = "key_held"  // another message holds its idempotency key; it stays dead
	RedriveEnded   RedriveOutcome = "run_ended" // its run has ended, so delivering it would change nothing; it stays dead
)

// DropOutcome is the result of removing a message.
type DropOutcome string

// The outcomes of a drop.
const (
	Dropped    DropOutcome = "dropped" // it is removed
	DropInHand DropOutcome = "in_hand" // it is being delivered; it is removed, and not delivered again, when that delivery ends
)

// QueueAdmin is an operator's view of the queue.
type QueueAdmin interface {
	// ListMessages lists messages: active, dead and completed ones newest first, pending ones last enqueued first,
	// delayed ones next due first. A page may hold fewer messages than its limit, even none, and still have a cursor
	// to continue from.
	ListMessages(ctx context.Context, q MessageQuery) (Page[MessageInfo], error)
	// GetMessage returns one, or CodeNotFound.
	GetMessage(ctx context.Context, messageID string) (MessageInfo, error)
	// RunMessages returns the messages of a run that are neither dead nor done, at most MaxRunMessages.
	RunMessages(ctx context.Context, runID string) ([]MessageInfo, error)
	// Redrive delivers a dead message again, whatever the state of its run. Repeating it changes nothing.
	Redrive(ctx context.Context, messageID string) (RedriveOutcome, error)
	// DropMessage removes a message in any state, or returns CodeNotFound. Repeating it changes nothing: a message
	// that is being delivered is DropInHand again, and any other is CodeNotFound.
	DropMessage(ctx context.Context, messageID string) (DropOutcome, error)
	// CountRunMessages returns the number of messages of a run that are neither dead nor done.
	CountRunMessages(ctx context.Context, runID string) (int64, error)
	// PauseQueue stops new deliveries of a kind on all replicas; deliveries in progress continue.
	PauseQueue(ctx context.Context, kind Kind) error
	// ResumeQueue ends a pause.
	ResumeQueue(ctx context.Context, kind Kind) error
	// QueueDepths returns the depth of both queues: flows, then steps.
	QueueDepths(ctx context.Context) ([]QueueDepth, error)
}

// MaxRunMessages bounds a list of a run's messages.
const MaxRunMessages = 1000

// RunForgetter is notified when a run has ended.
type RunForgetter interface {
	// ForgetRun has the messages of the run removed soon. It does not wait for that.
	ForgetRun(runID string)
}

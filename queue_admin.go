package world

import "context"

// MessageState is where a message of the queue is in its life (docs/queue.md).
type MessageState string

// The states of a message.
const (
	MessagePending   MessageState = "pending"   // to be delivered as soon as there is a free slot
	MessageActive    MessageState = "active"    // in an app's hands
	MessageScheduled MessageState = "scheduled" // delayed before its first delivery
	MessageRetry     MessageState = "retry"     // delayed before another delivery
	MessageParked    MessageState = "parked"    // a wake-up that waits until another one of its run has ended
	MessageStalled   MessageState = "stalled"   // waits for an app
	MessageDead      MessageState = "dead"      // set aside as undeliverable
	MessageCompleted MessageState = "completed" // done; the last ones are kept for a while
)

// MessageStates are all there are, in the order of a list of all.
func MessageStates() []MessageState {
	return []MessageState{
		MessageActive, MessagePending, MessageRetry, MessageStalled, MessageScheduled, MessageParked, MessageDead, MessageCompleted,
	}
}

// MessageInfo is what there is to tell of a message, but for its body.
type MessageInfo struct {
	MessageID      string
	Kind           Kind
	QueueName      string
	State          MessageState
	RunID          string // empty: of no run
	StepID         string
	DeploymentID   string
	IdempotencyKey string
	EnqueuedAt     Millis
	NextAt         Millis // when it is delivered next; 0: it is not delayed
	EndedAt        Millis // of one that is dead or completed
	Attempt        int    // of the delivery that runs or comes next; of one that has ended the last
	Failed         int    // deliveries that were charged
	Rescheduled    int    // times that the app put it off
	Reason         string // why the last delivery did not succeed
	WaitsFor       string // with MessageStalled: the deployment, empty if it names none
	Size           int    // of the body, in bytes
	ContentType    string
}

// MessageQuery selects messages; zero fields do not filter.
type MessageQuery struct {
	Kind  Kind
	State MessageState
	RunID string // looked for among those that the other fields select
	Page  PageRequest
}

// QueueDepth is how many messages a queue holds, by state.
type QueueDepth struct {
	Kind      Kind
	Queue     string // its name in asynq
	Paused    bool
	Pending   int64  // to be delivered now
	Active    int64  // being delivered
	Scheduled int64  // delayed before their first delivery
	Retry     int64  // delayed before another delivery
	Stalled   int64  // those of Retry that wait for an app
	Dead      int64  // set aside as undeliverable
	Completed int64  // done and still kept
	Oldest    Millis // since when the oldest pending message is; 0: none is
}

// RedriveOutcome is what became of a dead message that was to be delivered again.
type RedriveOutcome string

// The outcomes of a redrive.
const (
	Redriven       RedriveOutcome = "redriven"  // it is pending, its failures are forgotten
	RedriveNotDead RedriveOutcome = "not_dead"  // it is alive, done or gone, perhaps by an earlier redrive
	RedriveKeyHeld RedriveOutcome = "key_held"  // another message has its idempotency key now; it stays dead
	RedriveEnded   RedriveOutcome = "run_ended" // its run has ended, so it would change nothing; it stays dead
)

// DropOutcome is what became of a message that was to be removed.
type DropOutcome string

// The outcomes of a drop.
const (
	Dropped    DropOutcome = "dropped" // it is gone
	DropInHand DropOutcome = "in_hand" // it is in an app's hands; it is gone, and not delivered again, when that ends
)

// QueueAdmin is the queue seen by an operator.
type QueueAdmin interface {
	// ListMessages lists messages: active and dead and completed ones the newest first, pending
	// ones the last enqueued first, delayed ones the next due first. A page may hold fewer than
	// its limit, even none, and yet have a cursor to go on from.
	ListMessages(ctx context.Context, q MessageQuery) (Page[MessageInfo], error)
	// GetMessage returns one, or CodeNotFound.
	GetMessage(ctx context.Context, messageID string) (MessageInfo, error)
	// RunMessages returns what keeps a run going: its messages that are neither dead nor done,
	// at most MaxRunMessages.
	RunMessages(ctx context.Context, runID string) ([]MessageInfo, error)
	// Redrive delivers a dead message again, whatever its run; doing so twice is once.
	Redrive(ctx context.Context, messageID string) (RedriveOutcome, error)
	// DropMessage removes a message of any state, or returns CodeNotFound. Doing so twice is once: of one in an app's hands
	// it is DropInHand again, of any other CodeNotFound.
	DropMessage(ctx context.Context, messageID string) (DropOutcome, error)
	// CountRunMessages returns how many messages a run has that are neither dead nor done.
	CountRunMessages(ctx context.Context, runID string) (int64, error)
	// PauseQueue stops deliveries of a kind on all replicas; those that run go on.
	PauseQueue(ctx context.Context, kind Kind) error
	// ResumeQueue ends a pause.
	ResumeQueue(ctx context.Context, kind Kind) error
	// QueueDepths returns how full the queues are: flows, then steps.
	QueueDepths(ctx context.Context) ([]QueueDepth, error)
}

// MaxRunMessages bounds a list of a run's messages.
const MaxRunMessages = 1000

// RunForgetter is told when a run has ended.
type RunForgetter interface {
	// ForgetRun lets the messages of the run be removed soon; it does not wait for that.
	ForgetRun(runID string)
}

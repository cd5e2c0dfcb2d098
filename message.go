package world

import (
	"context"
	"strings"
	"time"
)

// Kind is which of the app's two routes a message goes to.
type Kind string

// The kinds, by the prefix of the queue name (contract §5.1).
const (
	KindFlow Kind = "flow"
	KindStep Kind = "step"
)

// QueueKind reads the kind off a queue name: `__[ns_]wkf_workflow_<name>` or
// `__[ns_]wkf_step_<name>`. The rest of the name is opaque.
func QueueKind(queueName string) (Kind, bool) {
	rest, ok := strings.CutPrefix(queueName, "__")
	if !ok {
		return "", false
	}
	if !strings.HasPrefix(rest, "wkf_") {
		ns, after, found := strings.Cut(rest, "_")
		if !found || !ValidNamespace(ns) {
			return "", false
		}
		rest = after
	}
	switch {
	case strings.HasPrefix(rest, "wkf_workflow_"):
		return KindFlow, true
	case strings.HasPrefix(rest, "wkf_step_"):
		return KindStep, true
	default:
		return "", false
	}
}

// QueueNamespace reads the namespace off a queue name; ok is false when it has none.
func QueueNamespace(queueName string) (ns string, ok bool) {
	rest, _ := strings.CutPrefix(queueName, "__")
	ns, after, _ := strings.Cut(rest, "_")
	if ns == "wkf" || !strings.HasPrefix(after, "wkf_") || !ValidNamespace(ns) {
		return "", false
	}
	return ns, true
}

// healthCheck is the name that a queue has for the SDK's health checks (contract §5.6).
const healthCheck = "health_check"

// IsHealthCheck reports whether a queue is for health checks: messages that belong to no run, and
// whose sender waits for the answer.
func IsHealthCheck(queueName string) bool {
	if _, ok := QueueKind(queueName); !ok {
		return false
	}
	return strings.HasSuffix(queueName, "wkf_workflow_"+healthCheck) || strings.HasSuffix(queueName, "wkf_step_"+healthCheck)
}

// ValidNamespace reports whether a namespace may stand in a queue name: a lower-case letter,
// then such letters and digits.
func ValidNamespace(ns string) bool {
	for i, c := range ns {
		if (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return ns != ""
}

// Message is one queue() call (contract §5). Body is delivered byte for byte.
type Message struct {
	QueueName      string
	Body           []byte
	ContentType    string            // of Body: application/cbor or application/json
	Headers        map[string]string // forwarded on the delivery request
	IdempotencyKey string
	Delay          time.Duration
	DeploymentID   string // the deployment to deliver to; empty: the sender's
	RequestID      string // of the queue() call; the same id again enqueues nothing

	// Read from the body by the API, so that the queue need not look inside.
	RunID  string // empty for health checks
	StepID string
	// Namespace is that of the sender, for names that leave it out; empty: not told.
	Namespace string
	// SDK is the generation that the run belongs to, as in App; empty: not told.
	SDK   string
	Plain bool // a bare wake-up of a run: carries nothing that another wake-up of it would not bring
	// Hops is how many services the message was delivered to before, see [HeaderHops].
	Hops int
}

// HeaderHops is on every request that a service makes to an app: through how many services the matter has come, this one
// included. Services that take each other for apps would pass it on for ever, so a request with more than MaxHops is
// refused.
const (
	HeaderHops = "X-World-Redis-Hops"
	MaxHops    = 4
)

// Queue accepts messages.
type Queue interface {
	// Enqueue returns when the message is durable. With an idempotency key that is held
	// by a message still queued, delayed or in flight for the same run, it returns that
	// message's id and adds nothing.
	Enqueue(ctx context.Context, m Message) (messageID string, err error)
}

// Delivery is one attempt to hand a message to an app.
type Delivery struct {
	MessageID string // the same at every redelivery
	Attempt   int    // 1-based: 1 + failed deliveries + 1 if ever rescheduled; 2 at least once an app may have seen the message
	BaseURL   string // of the app, without a trailing slash
	Kind      Kind
	Attach    bool // the app takes the answer to run_started along with this message, see App
	// Along is that answer, if it has been read just now, and empty if there is none; nil: not known.
	Along []byte
	Message
}

// Verdict says what becomes of a message after a delivery.
type Verdict int

// The verdicts, from contract §5.4.
const (
	// Done: the app acknowledged; the message is finished.
	Done Verdict = iota
	// Reschedule: the app asked for the same message again after Delay (0 is now).
	Reschedule
	// Failed: the app answered, but not with an acknowledgement; counts as an attempt.
	Failed
	// Unreachable: the app could not be reached or the connection broke; not charged.
	Unreachable
	// TooLarge: the run has to write a value that the service refuses for its size, and every
	// further delivery would come to the same. Reason is that refusal.
	TooLarge
)

// Outcome is a verdict with its reason.
type Outcome struct {
	Verdict Verdict
	Delay   time.Duration // with Reschedule; with Failed what Retry-After asked for, else 0
	Status  int           // HTTP status, 0 when there was no answer
	Reason  string        // one sentence for a person, with a hint; empty with Done
	// Sent is false when it is certain that no byte of the request reached the app, or that
	// it was turned away before any code of the app saw it.
	Sent bool
	// Seen is what was read of the log of the message's run right before the request was sent, if it was.
	Seen LogSeen
	// Between says, with Unreachable, that there was an answer, but that something between the
	// service and the app made it.
	Between bool
	// NoApp says, with Unreachable, that no app can be at the address: the service may not connect to it, or another
	// service answers there. Somebody has to correct that.
	NoApp bool
}

// Deliverer hands one message to an app and waits for its answer, hours if need be.
type Deliverer interface {
	Deliver(ctx context.Context, d Delivery) Outcome
}

// App is a process that receives deliveries.
type App struct {
	BaseURL      string // http(s)://host[:port][/base], without a trailing slash
	DeploymentID string
	SDK          string // "v4" or "v5"; empty: unknown
	Namespace    string // of the queue names that it serves; empty: none
	// Attach says that the app knows what to do with the answer to its first call, run_started,
	// when a wake-up of a run brings that along.
	Attach bool
	// Lease is how long the app counts as alive without being registered again. 0 is for
	// apps that do not run all the time, and means long.
	Lease time.Duration

	// Set by the registry.
	SeenAt     Millis
	AliveUntil Millis
	Alive      bool
	Refused    string // why the service does not connect to it; empty: it does
}

// AppRegistry knows where to deliver.
type AppRegistry interface {
	// RegisterApp records or refreshes an app; the newest registration of a deployment
	// receives its deliveries, including those already waiting.
	RegisterApp(ctx context.Context, a App) error
	// UnregisterApp ends the lease of an app that stops. It is no error if there is none.
	UnregisterApp(ctx context.Context, baseURL, deploymentID string) error
	// ListApps returns what is registered, newest first, also apps that are not alive.
	ListApps(ctx context.Context) ([]App, error)
}

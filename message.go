package world

import (
	"context"
	"strings"
	"time"
)

// Kind says which of the app's two routes a message is delivered to.
type Kind string

// The kinds, by the prefix of the queue name (contract §5.1).
const (
	KindFlow Kind = "flow"
	KindStep Kind = "step"
)

// QueueKind returns the kind that a queue name stands for: `__[ns_]wkf_workflow_<name>` or `__[ns_]wkf_step_<name>`.
// The rest of the name is opaque.
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

// QueueNamespace returns the namespace in a queue name; ok is false if it has none.
func QueueNamespace(queueName string) (ns string, ok bool) {
	rest, _ := strings.CutPrefix(queueName, "__")
	ns, after, _ := strings.Cut(rest, "_")
	if ns == "wkf" || !strings.HasPrefix(after, "wkf_") || !ValidNamespace(ns) {
		return "", false
	}
	return ns, true
}

// healthCheck is the name of the queue for the SDK's health checks (contract §5.6).
const healthCheck = "health_check"

// IsHealthCheck reports whether a queue is for health checks. Their messages belong to no run, and the sender waits
// for the answer.
func IsHealthCheck(queueName string) bool {
	if _, ok := QueueKind(queueName); !ok {
		return false
	}
	return strings.HasSuffix(queueName, "wkf_workflow_"+healthCheck) || strings.HasSuffix(queueName, "wkf_step_"+healthCheck)
}

// ValidNamespace reports whether a namespace may be part of a queue name: a lower-case letter, followed by lower-case
// letters and digits.
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
	DeploymentID   string // the deployment to deliver to; empty means the sender's
	RequestID      string // of the queue() call; a repeat with the same id enqueues nothing

	// The API reads these from the body, so that the queue does not decode it.
	RunID  string // empty for health checks
	StepID string
	// Namespace is the sender's, for queue names without one; empty if unknown.
	Namespace string
	// SDK is the generation that the run belongs to, as in App; empty if unknown.
	SDK   string
	Plain bool // a wake-up that carries no data of its own, so another wake-up of the run can replace it
	// Hops counts the services that delivered this message before, see [HeaderHops].
	Hops int
}

// HeaderHops is set on every request from a service to an app: the number of services that the request has passed
// through, including this one. Services that take each other for apps would forward a request for ever, so a request
// with more than MaxHops is refused.
const (
	HeaderHops = "X-World-Redis-Hops"
	MaxHops    = 4
)

// Queue accepts messages.
type Queue interface {
	// Enqueue returns once the message is stored. If a message of the same run that is queued, delayed or in delivery
	// has the same idempotency key, Enqueue returns its id and adds nothing.
	Enqueue(ctx context.Context, m Message) (messageID string, err error)
}

// Delivery is one attempt to deliver a message to an app.
type Delivery struct {
	MessageID string // the same at every redelivery
	Attempt   int    // 1-based: 1 + failed deliveries + 1 if it was ever rescheduled; at least 2 once an app may have seen the message
	BaseURL   string // of the app, without a trailing slash
	// Target is the deployment that the app has registered as, which may differ from the message's; empty if no app has
	// registered that address. An app of another deployment refuses the delivery.
	Target string
	// HasWorkflow says that a process that registered as the target has the workflow of the message. One without it
	// refuses the delivery.
	HasWorkflow bool
	// NewConnection asks for a connection of its own, because those that are open lead to another deployment.
	NewConnection bool
	Kind          Kind
	TakesPreload  bool // the app accepts a preloaded answer to run_started, see App
	// Preload is that answer, if it was just read; empty if there is none, nil if not known.
	Preload []byte
	// AsJSON says that the app does not accept a message in CBOR (see App), so it gets the same message as JSON.
	AsJSON bool
	Message
}

// Verdict says what happens to a message after a delivery.
type Verdict int

// The verdicts, from contract §5.4.
const (
	// Done: the app acknowledged the message.
	Done Verdict = iota
	// Reschedule: the app asked for the same message again after Delay; 0 means immediately.
	Reschedule
	// Failed: the app answered without an acknowledgement; counts as an attempt.
	Failed
	// Unreachable: the app could not be reached, or the connection broke; no attempt is charged.
	Unreachable
	// TooLarge: the run has to write a value that exceeds the service's size limit, so every further delivery would
	// fail the same way. Reason is that refusal.
	TooLarge
)

// Outcome is a verdict with its reason.
type Outcome struct {
	Verdict Verdict
	Delay   time.Duration // with Reschedule; with Failed the app's Retry-After, otherwise 0
	Status  int           // HTTP status; 0 if there was no answer
	Reason  string        // one sentence for an operator, with a hint; empty with Done
	// Sent is false if it is certain that no byte of the request reached the app, or that it was rejected before any
	// code of the app ran.
	Sent bool
	// Seen is the state of the run's log that was read just before the request was sent, if it was read.
	Seen LogSeen
	// Between says, with Unreachable, that the answer came from something between the service and the app.
	Between bool
	// TookJSON says that the app refused the message in CBOR by its content type, and accepted it as JSON.
	TookJSON bool
	// NoApp says, with Unreachable, that there can be no app at this address: the service may not connect to it, or
	// another service answers there. An operator has to correct that.
	NoApp bool
	// Misdirected says, with Unreachable, that an app of another deployment than Delivery.Target answered and refused the
	// message. A process of the right one may answer at the same address, if there is a load balancer.
	Misdirected bool
}

// Deliverer delivers one message to an app and waits for its answer, for hours if necessary.
type Deliverer interface {
	Deliver(ctx context.Context, d Delivery) Outcome
}

// App is a process that receives deliveries.
type App struct {
	BaseURL      string // http(s)://host[:port][/base], without a trailing slash
	DeploymentID string
	SDK          string // "v4" or "v5"; empty if unknown
	Namespace    string // of the queue names that it serves; empty if none
	// TakesPreload says that the app can use a preloaded answer to run_started, its first call, when a wake-up of a run
	// carries it.
	TakesPreload bool
	// Lease is how long the app counts as alive without registering again. 0 means a long lease, for apps that do not
	// run all the time.
	Lease time.Duration
	// Nonce is a random text of the process that registers. It proves with it that it answers at an address; empty if
	// it does not say.
	Nonce string
	// Workflows are the names of its workflows, sorted, one a line; empty if unknown.
	Workflows string

	// Set by the registry:
	SeenAt     Millis
	AliveUntil Millis
	Alive      bool
	Refused    string // why the service does not connect to it; empty if it does
	SharedWith string // another deployment whose app is alive at the same address; empty if none
	// OtherWorkflows are those that other processes registered with the same address and deployment until OthersUntil, and
	// that are not among Workflows.
	OtherWorkflows string
	OthersUntil    Millis
	// RefusedCBOR is when the app last refused a message in CBOR by its content type; 0: it has not.
	RefusedCBOR Millis
}

// AppRegistry knows where to deliver messages.
type AppRegistry interface {
	// RegisterApp adds or refreshes an app. The newest registration of a deployment receives its deliveries,
	// including those that already wait.
	RegisterApp(ctx context.Context, a App) error
	// UnregisterApp ends the lease of an app that stops. It is no error if the app is not registered.
	UnregisterApp(ctx context.Context, baseURL, deploymentID string) error
	// ListApps returns all registered apps, newest first, including those whose lease has expired.
	ListApps(ctx context.Context) ([]App, error)
}

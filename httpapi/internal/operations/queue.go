package operations

import (
	"context"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	maxQueueKey   = 1024     // bytes of a message's idempotency key
	maxHeaders    = 64       // forwarded on a delivery
	maxHeaderSize = 16 << 10 // bytes, names and values together
	// maxDelay is ten years: longer than any sleep, short enough for a time.Duration.
	maxDelay = 10 * 366 * 24 * time.Hour
)

// sentMessage is a message, and the app that sends it if the call registers that, too.
type sentMessage struct {
	world.Message
	app *world.App
}

// decodeMessage reads POST /v1/queue.
func decodeMessage(r *input.Request) (m sentMessage, err error) {
	body := r.Object()
	if body.Err != nil {
		return m, body.Err
	}
	if o := body.Object("app"); o != nil {
		app, err := readApp(o)
		if err != nil {
			return m, err
		}
		m.app = &app
	}
	m.Message = world.Message{
		QueueName:      body.Text("queueName", input.MaxName),
		IdempotencyKey: body.Text("idempotencyKey", maxQueueKey),
		DeploymentID:   body.Text("deploymentId", input.MaxName),
		Delay:          readDelay(body, "delaySeconds"),
		Headers:        readHeaders(body, "headers"),
		Namespace:      body.Namespace("namespace"),
		SDK:            sdkOf(body.Whole("specVersion")),
		RequestID:      r.ID,
	}
	if body.Err != nil {
		return m, body.Err
	}
	kind, err := checkQueueName(m.QueueName)
	if err != nil {
		return m, err
	}
	return m, readMessage(body, &m.Message, kind)
}

// enqueue queues a message and returns its id.
func (a *API) enqueue(ctx context.Context, m sentMessage) (string, error) {
	if err := a.registerSender(ctx, &m); err != nil {
		return "", err
	}
	return a.Deps.Queue.Enqueue(ctx, m.Message)
}

// registerSender registers the app that sends a message. It is called before the message is queued, so that the message finds the app.
func (a *API) registerSender(ctx context.Context, m *sentMessage) error {
	app := m.app
	if app == nil {
		return nil
	}
	if err := a.Deps.Apps.RegisterApp(ctx, *app); err != nil {
		return err
	}
	if m.DeploymentID == "" {
		m.DeploymentID = app.DeploymentID
	}
	if m.SDK == "" && m.DeploymentID == app.DeploymentID {
		m.SDK = app.SDK // an app that sends to its own deployment sends about its own runs
	}
	return nil
}

func encodeMessageID(e *wire.Encoder, id string) {
	o := e.Object()
	o.Text("messageId", id)
	o.End()
}

// sdkOf returns the SDK generation of a run with this spec version. Health checks belong to no run
// and send 1.
func sdkOf(specVersion *int64) string {
	switch {
	case specVersion == nil || *specVersion < 2:
		return ""
	case *specVersion <= 3:
		return "v4"
	default:
		return "v5"
	}
}

func checkQueueName(name string) (world.Kind, error) {
	if name == "" {
		return "", refuse.Invalid("queueName is missing")
	}
	kind, ok := world.QueueKind(name)
	if !ok {
		return "", refuse.Invalid("queueName %.100q is neither __[ns_]wkf_workflow_<name> nor __[ns_]wkf_step_<name>", name)
	}
	return kind, nil
}

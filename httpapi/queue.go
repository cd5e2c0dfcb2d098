package httpapi

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	maxQueueKey   = 1024     // bytes of a message's idempotency key
	maxHeaders    = 64       // forwarded on a delivery
	maxHeaderSize = 16 << 10 // bytes, names and values together
	// maxDelay is ten years: longer than any sleep, short enough for a time.Duration.
	maxDelay = 10 * 366 * 24 * time.Hour
)

// enqueue serves POST /v1/queue.
func (s *Server) enqueue(c echo.Context) error {
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	var app *world.App
	if o := body.object("app"); o != nil {
		read, err := readApp(o)
		if err != nil {
			return err
		}
		app = &read
	}
	m := world.Message{
		QueueName:      body.text("queueName", maxName),
		IdempotencyKey: body.text("idempotencyKey", maxQueueKey),
		DeploymentID:   body.text("deploymentId", maxName),
		Delay:          body.delay("delaySeconds"),
		Headers:        body.headers("headers"),
		Namespace:      body.namespace("namespace"),
		SDK:            sdkOf(body.whole("specVersion")),
		RequestID:      requestID(c),
	}
	if body.err != nil {
		return body.err
	}
	kind, err := checkQueueName(m.QueueName)
	if err != nil {
		return err
	}
	if err := body.message(&m, kind); err != nil {
		return err
	}
	if app != nil {
		// First the app, so that the message finds it.
		if err := s.deps.Apps.RegisterApp(c.Request().Context(), *app); err != nil {
			return err
		}
		if m.DeploymentID == "" {
			m.DeploymentID = app.DeploymentID
		}
		if m.SDK == "" && m.DeploymentID == app.DeploymentID {
			m.SDK = app.SDK // what an app sends to its own deployment is of its own runs
		}
	}
	return s.answerEnqueued(c, http.StatusOK, m)
}

// sdkOf is the generation of a run by its spec version. Health checks, which belong to none,
// say 1.
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

func (s *Server) answerEnqueued(c echo.Context, status int, m world.Message) error {
	id, err := s.deps.Queue.Enqueue(c.Request().Context(), m)
	if err != nil {
		return err
	}
	e := newEncoder(64)
	o := e.object()
	o.text("messageId", id)
	o.end()
	return s.answer(c, status, e.bytes)
}

func checkQueueName(name string) (world.Kind, error) {
	if name == "" {
		return "", invalid("queueName is missing")
	}
	kind, ok := world.QueueKind(name)
	if !ok {
		return "", invalid("queueName %.100q is neither __[ns_]wkf_workflow_<name> nor __[ns_]wkf_step_<name>", name)
	}
	return kind, nil
}

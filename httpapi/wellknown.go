package httpapi

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// traceHeaders are passed on from a well-known call to the delivery.
var traceHeaders = []string{"traceparent", "tracestate"}

func (s *Server) enqueueFlow(c echo.Context) error { return s.enqueueBare(c, world.KindFlow) }
func (s *Server) enqueueStep(c echo.Context) error { return s.enqueueBare(c, world.KindStep) }

// enqueueBare takes a message for the queue in the form in which it is delivered: the
// body is the message, the rest stands in headers.
func (s *Server) enqueueBare(c echo.Context, want world.Kind) error {
	h := c.Request().Header
	m := world.Message{
		QueueName:      h.Get("x-vqs-queue-name"),
		IdempotencyKey: h.Get("x-idempotency-key"),
		RequestID:      requestID(c),
		Hops:           hopsOf(c.Request()),
	}
	if m.Hops > 0 && m.IdempotencyKey == "" {
		// A service took us for an app, and delivers the message again and again: that is one message all the same.
		m.IdempotencyKey = h.Get("x-vqs-message-id")
	}
	if err := checkText("the header x-vqs-queue-name", m.QueueName, maxName); err != nil {
		return err
	}
	kind, err := checkQueueName(m.QueueName)
	if err != nil {
		return err
	}
	if kind != want {
		return invalid("queueName %.100q is for …/%s, not for …/%s", m.QueueName, kind, want)
	}
	if len(m.IdempotencyKey) > maxQueueKey {
		return invalid("x-idempotency-key has %d bytes, the limit is %d", len(m.IdempotencyKey), maxQueueKey)
	}
	if text := h.Get("x-delay-seconds"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		delay, fits := delayOf(seconds)
		if err != nil || !fits {
			return invalid("x-delay-seconds %s", delayRule)
		}
		m.Delay = delay
	}
	for _, name := range traceHeaders {
		if v := h.Get(name); v != "" {
			if m.Headers == nil {
				m.Headers = make(map[string]string, len(traceHeaders))
			}
			m.Headers[name] = v
		}
	}
	message, err := s.readItem(c)
	if err != nil {
		return err
	}
	if err := s.codec.describe(&m, kind, message); err != nil {
		return err
	}
	return s.answerEnqueued(c, http.StatusAccepted, m)
}

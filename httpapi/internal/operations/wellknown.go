package operations

import (
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// traceHeaders are copied from a well-known call to the delivery.
var traceHeaders = []string{"traceparent", "tracestate"}

// decodeBare reads a message for the queue in the form in which messages are delivered: the
// body is the message, and everything else is in headers.
func decodeBare(want world.Kind) func(*input.Request) (sentMessage, error) {
	return func(r *input.Request) (sentMessage, error) {
		m, err := bareMessage(r, want)
		return sentMessage{Message: m}, err
	}
}

func bareMessage(r *input.Request, want world.Kind) (world.Message, error) {
	h := r.From.Header()
	m := world.Message{
		QueueName:      h.Get("x-vqs-queue-name"),
		IdempotencyKey: h.Get("x-idempotency-key"),
		RequestID:      r.ID,
		Hops:           input.HopsOf(h),
	}
	if m.Hops > 0 && m.IdempotencyKey == "" {
		// Another service takes this one for an app and delivers the message repeatedly: it stays one message.
		m.IdempotencyKey = h.Get("x-vqs-message-id")
	}
	if err := input.CheckText("the header x-vqs-queue-name", m.QueueName, input.MaxName); err != nil {
		return m, err
	}
	kind, err := checkQueueName(m.QueueName)
	if err != nil {
		return m, err
	}
	if kind != want {
		return m, refuse.Invalid("queueName %.100q is for …/%s, not for …/%s", m.QueueName, kind, want)
	}
	if len(m.IdempotencyKey) > maxQueueKey {
		return m, refuse.Invalid("x-idempotency-key has %d bytes, the limit is %d", len(m.IdempotencyKey), maxQueueKey)
	}
	if text := h.Get("x-delay-seconds"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		delay, fits := delayOf(seconds)
		if err != nil || !fits {
			return m, refuse.Invalid("x-delay-seconds %s", delayRule)
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
	message, err := r.Item()
	if err != nil {
		return m, err
	}
	return m, describe(&m, kind, message)
}

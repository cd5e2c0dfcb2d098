package queue

import (
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// healthCheckLife is how long a health check may wait for its delivery. After that its sender has given
// up (contract §5.6), and the answer would stay in a stream that nobody reads.
const healthCheckLife = world.Millis(time.Minute / time.Millisecond)

// deliverHealthCheck delivers a health check like any message, but it ends a minute after it was queued,
// whatever it waits for.
func (w *worker) deliverHealthCheck(d *delivery, m world.Message) (decision lane.Decision, reached string) {
	end := enqueuedAt(d.ID) + healthCheckLife
	if w.q.nowMillis() >= end {
		return w.dropHealthCheck(d, "it is older than a minute"), ""
	}
	decision, reached = w.deliverMessage(d, m)
	decision.Due = min(decision.Due, end)
	return decision, reached
}

// dropHealthCheck ends a health check that was not answered.
func (w *worker) dropHealthCheck(d *delivery, reason string) lane.Decision {
	w.log.Info("a health check is dropped", slog.String("message", d.ID), slog.String("reason", reason))
	return lane.Decision{Disposition: lane.Done}
}

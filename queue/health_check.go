package queue

import (
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
)

// healthCheckLife is how long a health check may wait for its delivery: by then its sender has given
// up (contract §5.6), and the answer would stay in a stream that nobody reads.
const healthCheckLife = world.Millis(time.Minute / time.Millisecond)

// deliverHealthCheck delivers a health check as any message, but it ends a minute after it was queued,
// whatever it waits for.
func (l *lane) deliverHealthCheck(c *claim, m world.Message) (o outcome, reached string) {
	end := enqueuedAt(c.id) + healthCheckLife
	if l.q.nowMillis() >= end {
		return l.dropHealthCheck(c, "it is older than a minute"), ""
	}
	o, reached = l.deliverMessage(c, m)
	o.due = min(o.due, end)
	return o, reached
}

// dropHealthCheck ends a health check that was not answered.
func (l *lane) dropHealthCheck(c *claim, reason string) outcome {
	l.log.Info("a health check is dropped", slog.String("message", c.id), slog.String("reason", reason))
	return outcome{disposition: dispositionDone}
}

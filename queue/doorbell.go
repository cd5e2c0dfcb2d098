package queue

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// doorbellCheck is how often a silent connection is checked. The upkeep looks at the queue
// more often than that, so a doorbell that is dead costs seconds at worst.
const doorbellCheck = 10 * time.Second

// ringing is what the scripts say on the doorbell: who rings, and when the message is due.
func (q *Queue) ringing(due world.Millis) string {
	if due == 0 {
		return q.instance
	}
	return q.instance + " " + strconv.FormatInt(int64(due), 10)
}

// hearDoorbells listens to the doorbells of other replicas until ctx ends. A bell that is
// lost while the connection is down costs nothing: on return both queues are looked at.
func (q *Queue) hearDoorbells(ctx context.Context) {
	sub := q.redis.Subscribe(ctx, q.flows.keys.bell, q.steps.keys.bell)
	defer sub.Close() //nolint:errcheck // nothing to lose
	messages := sub.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(doorbellCheck))
	for {
		select {
		case <-ctx.Done():
			return
		case m, open := <-messages:
			if !open {
				return
			}
			switch m := m.(type) {
			case *redis.Subscription:
				for _, l := range q.lanes() {
					l.bell.ring()
				}
			case *redis.Message:
				q.hear(m)
			}
		}
	}
}

func (q *Queue) hear(m *redis.Message) {
	from, due, delayed := strings.Cut(m.Payload, " ")
	if from == q.instance {
		return
	}
	for _, l := range q.lanes() {
		if m.Channel != l.keys.bell {
			continue
		}
		if !delayed {
			l.bell.ring()
			continue
		}
		if ms, err := strconv.ParseInt(due, 10, 64); err == nil {
			l.due.note(world.Millis(ms))
			if ms <= int64(q.nowMillis()) {
				l.bell.ring() // an app registered: who looks learns of it
			}
		}
	}
}

package queue

import (
	"net/http"

	"github.com/world-redis/world-redis"
)

// answeredBetween is what becomes of a message that a proxy answered for the app: it is not charged.
// The app counts as down, but for a proxy that only did not wait long enough: the app
// perhaps works on, and other deliveries get through.
func (l *lane) answeredBetween(c *claim, baseURL string, out world.Outcome) outcome {
	o := outcome{disposition: dispositionWaitingForApp, reason: out.Reason, unseen: !out.Sent}
	if out.Sent {
		o.app = baseURL
	}
	if out.Status == http.StatusGatewayTimeout {
		l.q.health.Refused(l.kind, baseURL, c.id, out)
		o.due = l.q.dueIn(l.q.cfg.Backoff.Unreachable(2))
		return o
	}
	o.due = l.q.dueIn(l.q.health.Unreachable(baseURL, out.Reason))
	return o
}

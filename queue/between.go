package queue

import (
	"net/http"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// answeredBetween is what becomes of a message that a proxy answered for the app. It is not charged.
// The app counts as down, unless the proxy has only not waited long enough. Then the app
// perhaps works on the message, and other deliveries get through.
func (w *worker) answeredBetween(d *delivery, baseURL string, out world.Outcome) lane.Decision {
	decision := lane.Decision{Disposition: lane.WaitingForApp, Reason: out.Reason, Unseen: !out.Sent}
	if out.Sent {
		decision.App = baseURL
	}
	if out.Status == http.StatusGatewayTimeout {
		w.q.health.Refused(w.Kind, baseURL, d.ID, out)
		decision.Due = w.q.dueIn(w.q.cfg.Backoff.Unreachable(2))
		return decision
	}
	decision.Due = w.q.dueIn(w.q.health.Unreachable(baseURL, out.Reason))
	return decision
}

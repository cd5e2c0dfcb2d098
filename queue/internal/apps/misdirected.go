package apps

import (
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
)

// Misdirected is called when an app of another deployment has refused a message, and returns how long to wait. Only the
// messages of this deployment wait: those of the other one arrive at that address.
func (h *Health) Misdirected(a world.App, reason string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	d := h.downFrom(fieldOf(a), now)
	h.complaints.lasts("misdirected "+fieldOf(a),
		"another deployment answers at the address that this one has registered; its messages wait, uncharged, and are tried again every few seconds: "+
			"give each deployment its own WORKFLOW_BASE_URL, or stop the app that has the wrong one",
		slog.String("app", a.BaseURL), slog.String("deployment", a.DeploymentID), slog.String("reason", reason))
	d.tries++
	d.reason = reason
	wait := h.backoff.Unreachable(d.tries)
	d.next = now.Add(wait)
	return wait
}

// WaitFor returns how long an app must not be tried, because its address is down or another deployment answers there.
// 0: the caller tries it now.
func (h *Health) WaitFor(a world.App) time.Duration {
	if wait := h.Wait(fieldOf(a)); wait > 0 {
		return wait
	}
	return h.Wait(a.BaseURL)
}

// WhyWaits returns why messages for an app wait.
func (h *Health) WhyWaits(a world.App) string {
	if reason, misdirected := h.misdirected(a); misdirected {
		return reason
	}
	return h.WhyDown(a.BaseURL)
}

// IsMisdirected reports whether another deployment has answered last. A connection that is open leads there, and each
// use would keep it open, even while that process waits for it to end.
func (h *Health) IsMisdirected(a world.App) bool {
	_, misdirected := h.misdirected(a)
	return misdirected
}

func (h *Health) misdirected(a world.App) (reason string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.down[fieldOf(a)]; d != nil {
		return d.reason, true
	}
	return "", false
}

// Found is called when an app of the right deployment has answered, and reports whether another one did before.
func (h *Health) Found(a world.App) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[fieldOf(a)] == nil {
		return false
	}
	delete(h.down, fieldOf(a))
	h.complaints.over("misdirected "+fieldOf(a), "the deployment answers at its address again",
		slog.String("app", a.BaseURL), slog.String("deployment", a.DeploymentID))
	return true
}

package apps

import (
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/backoff"
)

// Health remembers which apps are down and which are missing, so that a message now and then tries an app that is down, and not
// all of them do.
type Health struct {
	backoff    backoff.Times
	clock      world.Clock
	complaints *complaints

	mu     sync.Mutex
	down   map[string]*downtime // by address; if another deployment answers there, by deployment and address (fieldOf)
	absent map[absence]*absent  // apps that there are none of; at most absencesKept
}

// downtime is an app that could not be reached.
type downtime struct {
	next   time.Time // when it may be tried again
	tries  int
	reason string // why the last try failed
}

// NewHealth returns a Health that knows of no trouble. It logs each trouble.
func NewHealth(t backoff.Times, clock world.Clock, log *slog.Logger) *Health {
	return &Health{backoff: t, clock: clock, complaints: newComplaints(clock, log), down: map[string]*downtime{}, absent: map[absence]*absent{}}
}

// Wait returns how long an app that is down must not be tried. 0: the caller tries it now.
func (h *Health) Wait(baseURL string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.down[baseURL]
	if d == nil {
		return 0
	}
	now := h.clock.Now()
	if wait := d.next.Sub(now); wait > 0 {
		return backoff.Jitter(wait + 10*time.Millisecond)
	}
	// This caller tries it. The ones that come meanwhile wait.
	d.next = now.Add(h.backoff.Unreachable(d.tries + 1))
	return 0
}

// Unreachable is called when an app could not be reached, and returns how long to wait.
func (h *Health) Unreachable(baseURL, reason string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	d := h.downFrom(baseURL, now)
	h.complaints.lasts("down "+baseURL, "the app cannot be reached; its messages wait, uncharged, and are tried again every few seconds",
		slog.String("app", baseURL), slog.String("reason", reason))
	d.tries++
	d.reason = reason
	wait := h.backoff.Unreachable(d.tries)
	d.next = now.Add(wait)
	return wait
}

// downFrom returns what is known of an app that is down. If there are too many, those that nobody has tried for long are forgotten.
func (h *Health) downFrom(baseURL string, now time.Time) *downtime {
	d := h.down[baseURL]
	if d == nil {
		if len(h.down) >= complaintsKept {
			maps.DeleteFunc(h.down, func(_ string, other *downtime) bool { return now.Sub(other.next) > complaintQuiet })
		}
		d = &downtime{}
		h.down[baseURL] = d
	}
	return d
}

// Wrong is called when no app can be at an address, and returns how long to wait. Somebody must correct the address, so it is
// tried as seldom as a missing app.
func (h *Health) Wrong(baseURL, reason string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	d := h.downFrom(baseURL, now)
	h.complaints.stays("wrong "+baseURL, "no app can be at this address; its messages wait, uncharged: register the app at another one, or correct WORKFLOW_BASE_URL or WORKFLOW_WORLD_APP_HOSTS of this service",
		slog.String("app", baseURL), slog.String("reason", reason))
	d.reason = reason
	wait := backoff.Jitter(h.backoff.NoTarget)
	d.next = now.Add(wait)
	return wait
}

// WhyDown returns why an app could not be reached when it was last tried.
func (h *Health) WhyDown(baseURL string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.down[baseURL]; d != nil && d.reason != "" {
		return d.reason
	}
	return "the app at " + baseURL + " could not be reached"
}

// Reached is called when an app has answered, and reports whether it was down before.
func (h *Health) Reached(baseURL string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.down[baseURL]
	if d == nil {
		return false
	}
	delete(h.down, baseURL)
	h.complaints.over("down "+baseURL, "the app can be reached again", slog.String("app", baseURL))
	return true
}

// forgive lets every app be tried again at once.
func (h *Health) forgive() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.down {
		d.next, d.tries = time.Time{}, 0
	}
}

// Refused is called when an app did not acknowledge a message. Answers of an app with the same status are one trouble, since reasons
// differ with each message.
func (h *Health) Refused(kind world.Kind, baseURL, messageID string, out world.Outcome) {
	h.complaints.refuses(fmt.Sprintf("refuses %s %s %d", kind, baseURL, out.Status), messageID,
		"the app did not acknowledge a message; it is delivered again later",
		slog.String("app", baseURL), slog.String("kind", string(kind)), slog.String("message", messageID), slog.String("reason", out.Reason))
}

// Accepted is called when an app has acknowledged a message.
func (h *Health) Accepted(kind world.Kind, baseURL, messageID string) {
	if h.complaints.isRefused(messageID) {
		h.complaints.settled(messageID, "the app acknowledges the messages that it did not", slog.String("app", baseURL), slog.String("kind", string(kind)))
	}
}

// SetAside is called when a message is not delivered any more.
func (h *Health) SetAside(messageID string) { h.complaints.settled(messageID, "") }

// Broke is called when the connection to an app broke during a delivery. It is logged as a warning only when it goes on: an app that
// is replaced or killed breaks its connections once.
func (h *Health) Broke(baseURL, messageID string, m world.Message, reason string) {
	h.complaints.lasts("broke "+baseURL, "the connection to the app broke during a delivery; it is made again",
		slog.String("app", baseURL), slog.String("message", messageID), slog.String("run_id", m.RunID), slog.String("step_id", m.StepID), slog.String("reason", reason))
}

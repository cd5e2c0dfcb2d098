package apps

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
)

// absencesKept bounds the absences that are remembered: each deployment that a message names is one.
const absencesKept = 10_000

// absence is what messages have in common that wait for the same app.
type absence struct {
	kind                       world.Kind
	deployment, sdk, namespace string
}

// absent is when an absence was noticed.
type absent struct {
	since, noticed time.Time // the first time, and the last
}

func absenceOf(kind world.Kind, m world.Message) absence {
	namespace, _ := namespaceFor(m, kind)
	sdk := m.SDK
	if sdk == "" && kind == world.KindStep {
		sdk = SDKv4
	}
	return absence{kind: kind, deployment: m.DeploymentID, sdk: sdk, namespace: namespace}
}

func (a absence) complaint() string { return fmt.Sprint("absent ", a) }

// missing is called when there is no app for a message, and returns since when this process has seen that.
func (h *Health) missing(what absence, short shortage) (since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	a := h.absent[what]
	if a == nil {
		h.makeRoom()
		a = &absent{since: now}
		h.absent[what] = a
	}
	a.noticed = now
	say := h.complaints.lasts
	if short.urgent {
		say = h.complaints.stays
	}
	say(what.complaint(), "messages wait: "+short.reason+"; "+short.advice,
		slog.String("kind", string(what.kind)), slog.String("deployment", what.deployment))
	return a.since
}

// makeRoom forgets the absence that was not noticed for the longest time, if there are too many. If a message still waits for
// that app, its absence begins anew.
func (h *Health) makeRoom() {
	if len(h.absent) < absencesKept {
		return
	}
	var oldest absence
	var noticed time.Time
	for what, a := range h.absent {
		if noticed.IsZero() || a.noticed.Before(noticed) {
			oldest, noticed = what, a.noticed
		}
	}
	delete(h.absent, oldest)
}

// Present is called when there is an app for a message.
func (h *Health) Present(kind world.Kind, m world.Message) { h.present(absenceOf(kind, m)) }

func (h *Health) present(what absence) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.absent[what] != nil {
		h.found(what)
	}
}

// found ends the absence of an app. The mutex is held.
func (h *Health) found(what absence) {
	delete(h.absent, what)
	h.complaints.over(what.complaint(), "there is an app again for the messages that waited",
		slog.String("kind", string(what.kind)), slog.String("deployment", what.deployment))
}

// awaits reports whether messages may wait for this app.
func (h *Health) awaits(a world.App) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[a.BaseURL] != nil || h.down[fieldOf(a)] != nil {
		return true
	}
	for what := range h.absent {
		if what.isFor(a) {
			return true
		}
	}
	return false
}

// registered is called when an app has registered.
func (h *Health) registered(a world.App) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for what := range h.absent {
		if what.isFor(a) {
			h.found(what)
		}
	}
	for _, key := range []string{a.BaseURL, fieldOf(a)} {
		if d := h.down[key]; d != nil {
			d.next, d.tries = time.Time{}, 0
		}
	}
}

func (a absence) isFor(app world.App) bool {
	return a.deployment == "" || a.deployment == app.DeploymentID
}

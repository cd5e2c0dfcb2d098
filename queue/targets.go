package queue

import (
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// targets remembers how the apps do, so that an app that is down is asked by one message
// now and then and not by all of them.
type targets struct {
	backoff Backoff
	clock   world.Clock
	said    *complaints

	mu     sync.Mutex
	down   map[string]*downtime // by address
	absent map[absence]*absent  // what there is no app for; at most absencesKept
}

// absencesKept bounds the absences that are remembered: each deployment that a message names is one.
const absencesKept = 10_000

// absent is for how long there has been no app.
type absent struct {
	since, heard time.Time // for the first time, and for the last
}

type downtime struct {
	since, next time.Time
	tries       int
	reason      string // of the last try
}

// absence is what messages have in common that wait for an app.
type absence struct {
	kind                       world.Kind
	deployment, sdk, namespace string
}

func absenceOf(kind world.Kind, m world.Message) absence {
	namespace, _ := namespaceFor(m, kind)
	sdk := m.SDK
	if sdk == "" && kind == world.KindStep {
		sdk = sdkV4
	}
	return absence{kind: kind, deployment: m.DeploymentID, sdk: sdk, namespace: namespace}
}

func newTargets(b Backoff, clock world.Clock, log *slog.Logger) *targets {
	return &targets{backoff: b, clock: clock, said: newComplaints(clock, log), down: map[string]*downtime{}, absent: map[absence]*absent{}}
}

// wait returns how long not to ask an app that is down; 0: ask now.
func (t *targets) wait(baseURL string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.down[baseURL]
	if d == nil {
		return 0
	}
	now := t.clock.Now()
	if wait := d.next.Sub(now); wait > 0 {
		return jitter(wait + 10*time.Millisecond)
	}
	// This one asks; those that come while it does wait.
	d.next = now.Add(t.backoff.unreachable(d.tries + 1))
	return 0
}

// unreachable hears that an app could not be reached, and returns how long to wait.
func (t *targets) unreachable(baseURL, reason string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	d := t.downFrom(baseURL, now)
	t.said.lasts("down "+baseURL, "the app cannot be reached; its messages wait, uncharged, and are tried again every few seconds",
		slog.String("app", baseURL), slog.String("reason", reason))
	d.tries++
	d.reason = reason
	wait := t.backoff.unreachable(d.tries)
	d.next = now.Add(wait)
	return wait
}

// downFrom returns what is known of an app that is down. Those that nobody tries any more make room.
func (t *targets) downFrom(baseURL string, now time.Time) *downtime {
	d := t.down[baseURL]
	if d == nil {
		if len(t.down) >= complaintsKept {
			maps.DeleteFunc(t.down, func(_ string, other *downtime) bool { return now.Sub(other.next) > complaintQuiet })
		}
		d = &downtime{since: now}
		t.down[baseURL] = d
	}
	return d
}

// wrong is called when no app can be at an address, and returns how long to wait. That ends when somebody corrects it, so it is tried as
// seldom as a missing app.
func (t *targets) wrong(baseURL, reason string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	d := t.downFrom(baseURL, now)
	t.said.stays("wrong "+baseURL, "no app can be at this address; its messages wait, uncharged: register the app at another one, or correct WORKFLOW_BASE_URL or WORKFLOW_WORLD_APP_HOSTS of this service",
		slog.String("app", baseURL), slog.String("reason", reason))
	d.reason = reason
	wait := jitter(t.backoff.NoTarget)
	d.next = now.Add(wait)
	return wait
}

// whyDown returns why an app could not be reached when it was last tried.
func (t *targets) whyDown(baseURL string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.down[baseURL]; d != nil && d.reason != "" {
		return d.reason
	}
	return "the app at " + baseURL + " could not be reached"
}

// reached hears that an app answered, and reports whether it was down before.
func (t *targets) reached(baseURL string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.down[baseURL]
	if d == nil {
		return false
	}
	delete(t.down, baseURL)
	t.said.over("down "+baseURL, "the app can be reached again", slog.String("app", baseURL))
	return true
}

// forgive lets every app be asked again at once.
func (t *targets) forgive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.down {
		d.next, d.tries = time.Time{}, 0
	}
}

// missing hears that there is no app for a message, and returns since when that is so as far as
// this process has heard.
func (t *targets) missing(what absence, short shortage) (since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	a := t.absent[what]
	if a == nil {
		t.makeRoom()
		a = &absent{since: now}
		t.absent[what] = a
	}
	a.heard = now
	say := t.said.lasts
	if short.urgent {
		say = t.said.stays
	}
	say(fmt.Sprint("absent ", what), "messages wait: "+short.reason+"; "+short.advice,
		slog.String("kind", string(what.kind)), slog.String("deployment", what.deployment))
	return a.since
}

// makeRoom forgets the absence that was not heard of for the longest time, if there are too many. Should a message wait for
// that app after all, its absence begins anew.
func (t *targets) makeRoom() {
	if len(t.absent) < absencesKept {
		return
	}
	var oldest absence
	var heard time.Time
	for what, a := range t.absent {
		if heard.IsZero() || a.heard.Before(heard) {
			oldest, heard = what, a.heard
		}
	}
	delete(t.absent, oldest)
}

// present hears that there is an app for a message.
func (t *targets) present(what absence) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.absent[what] != nil {
		t.found(what)
	}
}

// found ends the absence of an app.
func (t *targets) found(what absence) {
	delete(t.absent, what)
	t.said.over(fmt.Sprint("absent ", what), "there is an app again for the messages that waited",
		slog.String("kind", string(what.kind)), slog.String("deployment", what.deployment))
}

// awaits reports whether messages wait for just this app.
func (t *targets) awaits(a world.App) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.down[a.BaseURL] != nil {
		return true
	}
	for r := range t.absent {
		if r.deployment == "" || r.deployment == a.DeploymentID {
			return true
		}
	}
	return false
}

// registered hears that an app is there.
func (t *targets) registered(a world.App) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range t.absent {
		if r.deployment == "" || r.deployment == a.DeploymentID {
			t.found(r)
		}
	}
	if d := t.down[a.BaseURL]; d != nil {
		d.next, d.tries = time.Time{}, 0
	}
}

// refused is called with an answer that is no acknowledgement. The same status of an app is the same trouble, since reasons
// differ with each message.
func (t *targets) refused(kind world.Kind, baseURL, message string, out world.Outcome) {
	t.said.refuses(fmt.Sprintf("refuses %s %s %d", kind, baseURL, out.Status), message,
		"the app did not acknowledge a message; it is delivered again later",
		slog.String("app", baseURL), slog.String("kind", string(kind)), slog.String("message", message), slog.String("reason", out.Reason))
}

// accepted hears that an app acknowledged a message.
func (t *targets) accepted(kind world.Kind, baseURL, message string) {
	if t.said.isRefused(message) {
		t.said.settled(message, "the app acknowledges the messages that it did not", slog.String("app", baseURL), slog.String("kind", string(kind)))
	}
}

// setAside hears that a message is not delivered any more.
func (t *targets) setAside(message string) { t.said.settled(message, "") }

// broke hears that the connection to an app broke during a delivery. That is a warning only when it goes on: an app that is replaced
// or killed does it once.
func (t *targets) broke(baseURL, message string, m world.Message, reason string) {
	t.said.lasts("broke "+baseURL, "the connection to the app broke during a delivery; it is made again",
		slog.String("app", baseURL), slog.String("message", message), slog.String("run", m.RunID), slog.String("step", m.StepID), slog.String("reason", reason))
}

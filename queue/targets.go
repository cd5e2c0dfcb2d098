package queue

import (
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// targets remembers how the apps do, so that an app that is down is asked by one message
// now and then and not by all of them, and so that the log has one line for each trouble
// and one for its end, not one for each try.
type targets struct {
	backoff Backoff
	clock   world.Clock
	log     *slog.Logger

	mu      sync.Mutex
	down    map[string]*downtime // by address
	absent  map[route]time.Time  // deployments without an app, since when
	refusal map[route]string     // the last complaint about an app's answers
}

type downtime struct {
	since, next time.Time
	tries       int
}

// route is a deployment or an address, with one of its two routes.
type route struct {
	kind world.Kind
	to   string
}

func newTargets(b Backoff, clock world.Clock, log *slog.Logger) *targets {
	return &targets{backoff: b, clock: clock, log: log, down: map[string]*downtime{}, absent: map[route]time.Time{}, refusal: map[route]string{}}
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
	d := t.down[baseURL]
	if d == nil {
		d = &downtime{since: now}
		t.down[baseURL] = d
		t.log.Warn("the app cannot be reached; its messages wait, uncharged, and are tried again every few seconds",
			slog.String("app", baseURL), slog.String("reason", reason))
	}
	d.tries++
	wait := t.backoff.unreachable(d.tries)
	d.next = now.Add(wait)
	return wait
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
	t.log.Info("the app can be reached again", slog.String("app", baseURL), slog.Duration("down", t.clock.Now().Sub(d.since)))
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

// missing hears that there is no app for a message; lapsed is the last one that was, if any.
// It returns that in words, and since when it is so as far as this process has heard.
func (t *targets) missing(kind world.Kind, deploymentID string, lapsed world.App) (reason string, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	what := waitsFor(deploymentID, lapsed, now)
	r := route{kind, deploymentID}
	since, known := t.absent[r]
	if !known {
		since = now
		t.absent[r] = now
		t.log.Warn("messages wait: "+what+"; start the app (its world.start() registers it), or set WORKFLOW_BASE_URL of this service",
			slog.String("kind", string(kind)), slog.String("deployment", deploymentID))
	}
	return what, since
}

// present hears that there is an app for a message.
func (t *targets) present(kind world.Kind, deploymentID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.absent, route{kind, deploymentID})
}

// awaits reports whether messages wait for just this app.
func (t *targets) awaits(a world.App) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.down[a.BaseURL] != nil {
		return true
	}
	for r := range t.absent {
		if r.to == "" || r.to == a.DeploymentID {
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
		if r.to == "" || r.to == a.DeploymentID {
			delete(t.absent, r)
		}
	}
	if d := t.down[a.BaseURL]; d != nil {
		d.next, d.tries = time.Time{}, 0
	}
}

// refused hears of an answer that is no acknowledgement, and says so unless it said the
// same before.
func (t *targets) refused(kind world.Kind, baseURL, reason string) {
	t.mu.Lock()
	r := route{kind, baseURL}
	known := t.refusal[r] == reason
	t.refusal[r] = reason
	t.mu.Unlock()
	if !known {
		t.log.Warn("the app did not acknowledge a message; it is delivered again later",
			slog.String("app", baseURL), slog.String("kind", string(kind)), slog.String("reason", reason))
	}
}

// accepted hears that an app acknowledged, which ends a complaint about it.
func (t *targets) accepted(kind world.Kind, baseURL string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.refusal, route{kind, baseURL})
}

package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// goodFor is how long a good result is used, and badFor a bad one. An app renews its registration every 30 s, and
	// each renewal checks what was bad.
	goodFor = 5 * time.Minute
	badFor  = 20 * time.Second
	// noteKept is how long other replicas find a result.
	noteKept = 10 * time.Minute
)

// registration is an app with the IP address that it registered from, which is not valid if it is unknown.
type registration struct {
	world.App
	from netip.Addr
}

// appFinding is what answers at the address of an app. The exported fields are kept for all replicas.
type appFinding struct {
	Code   world.AppWarningCode `json:"code,omitempty"` // empty: nothing is wrong
	Reason string               `json:"reason,omitempty"`
	Route  string               `json:"route,omitempty"` // where the app is instead of its address
	At     world.Millis         `json:"at"`

	hopeless bool // another try does not help
	proved   bool // the process that registered answers
}

func (f appFinding) good() bool { return f.Code == "" }

// appNotes keeps findings for all replicas.
type appNotes interface {
	AppNote(ctx context.Context, about string) ([]byte, error)
	SetAppNote(ctx context.Context, about string, note []byte, keep time.Duration) error
}

// Warnings returns what is wrong with an app that has just registered, as far as it is known, and has it checked if
// that was some time ago.
func (c *appCheck) Warnings(ctx context.Context, a world.App) []world.AppWarning {
	r := registration{a, world.CallerOf(ctx)}
	f, known := c.finding(ctx, a)
	age := time.Since(f.At.Time())
	switch {
	case !known:
		c.look(checkTask{registration: r}, false)
	case f.good() && age >= goodFor:
		c.look(checkTask{registration: r}, true)
	case !f.good() && age >= badFor:
		c.look(checkTask{registration: r, once: true}, true)
	}
	var warnings []world.AppWarning
	if known && !f.good() {
		warnings = append(warnings, world.AppWarning{Code: f.Code, Message: adviceFor(a, f)})
	}
	return append(warnings, c.sharing(ctx, a)...)
}

// finding returns the newest result for an app, of any replica.
func (c *appCheck) finding(ctx context.Context, a world.App) (f appFinding, known bool) {
	c.mu.Lock()
	if state := c.seen[checked(a)]; state != nil && state.last.At != 0 {
		f, known = state.last, true
	}
	c.mu.Unlock()
	if c.notes == nil {
		return f, known
	}
	text, err := c.notes.AppNote(ctx, aboutFinding(a))
	var noted appFinding
	if err == nil && text != nil && json.Unmarshal(text, &noted) == nil && noted.At > f.At {
		return noted, true
	}
	return f, known
}

// note keeps a result for all replicas. If that fails, this process still has it.
func (c *appCheck) note(ctx context.Context, r registration, f appFinding) {
	if c.notes == nil || r.DeploymentID == "" {
		return
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = c.notes.SetAppNote(ctx, aboutFinding(r.App), text, noteKept)
	}
	if err != nil {
		c.log.Debug("a finding about an app was not kept", slog.String("app", r.BaseURL), slog.Any("error", err))
	}
}

func aboutFinding(a world.App) string {
	key := checked(a)
	return "finding\n" + key.baseURL + "\n" + key.deploymentID + "\n" + key.nonce
}

// sentenceOf describes a code for the log.
func sentenceOf(code world.AppWarningCode) string {
	switch code {
	case world.OtherApp:
		return "another app answers at the address that this one has registered; give each app its own WORKFLOW_BASE_URL"
	case world.LocalhostOfContainer:
		return "an app on another machine, or in a container, has registered localhost, which is this service's machine; set its WORKFLOW_BASE_URL"
	case world.SignatureRefused:
		return "the app at this address refuses the signature of this service; messages for it will wait"
	default:
		return "no workflow app answers at this address; messages for it will wait"
	}
}

// adviceFor describes a finding for the developer of the app.
func adviceFor(a world.App, f appFinding) string {
	at := "This app is registered at " + a.BaseURL + ", "
	advice := " Set WORKFLOW_BASE_URL to the address at which the service reaches this app."
	switch f.Code {
	case world.OtherApp:
		return fitting(at+"and another app answers there: ", f.Reason, "."+advice)
	case world.LocalhostOfContainer:
		return fitting(at+"which from the service is another machine or container: ", f.Reason, "."+advice)
	case world.SignatureRefused:
		return fitting(at+"and refuses what the service sends: ", f.Reason, ".")
	default:
		return fitting(at+"and the service finds no workflow app there: ", f.Reason, "."+advice)
	}
}

// fitting shortens the middle of a text so that the whole fits into a warning.
func fitting(begin, middle, end string) string {
	left := max(0, world.MaxAppWarning-len(begin)-len(end))
	return begin + middle[:min(len(middle), left)] + end
}

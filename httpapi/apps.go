package httpapi

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	maxBaseURL = 2048              // bytes
	maxLease   = 30 * 24 * 60 * 60 // seconds
	maxNames   = 64                // in a list of what an app can do

	// attachStart is what an app takes along with a delivery: the answer to run_started.
	attachStart = string(world.EventRunStarted)
)

func decodeApp(r *request) (world.App, error) {
	body := r.object()
	if body.err != nil {
		return world.App{}, body.err
	}
	return readApp(body)
}

func (a *api) registerApp(ctx context.Context, app world.App) (nothing, error) {
	return nothing{}, a.deps.Apps.RegisterApp(ctx, app)
}

// unregisterApp is called by an app that stops.
func (a *api) unregisterApp(ctx context.Context, app world.App) (nothing, error) {
	return nothing{}, a.deps.Apps.UnregisterApp(ctx, app.BaseURL, app.DeploymentID)
}

func (a *api) listApps(ctx context.Context, _ nothing) ([]world.App, error) {
	return a.deps.Apps.ListApps(ctx)
}

func encodeApps(e *wire.Encoder, apps []world.App) {
	e.Grow(64 + 256*len(apps))
	o := e.Object()
	encodeData(e, &o, apps, writeApp)
	o.End()
}

func writeApp(e *wire.Encoder, a *world.App) {
	o := e.Object()
	o.Text("baseUrl", a.BaseURL)
	o.Text("deploymentId", a.DeploymentID)
	o.OptionalText("sdk", a.SDK)
	o.OptionalText("namespace", a.Namespace)
	if a.Attach {
		o.Key("attach")
		e.Array(1)
		e.Text(attachStart)
	}
	o.OptionalWhole("leaseSeconds", int(a.Lease/time.Second))
	o.OptionalMillis("seenAt", a.SeenAt)
	o.OptionalMillis("aliveUntil", a.AliveUntil)
	o.Flag("alive", a.Alive)
	o.OptionalText("refused", a.Refused)
	o.End()
}

// readApp reads and checks an App; what the registry sets is ignored.
func readApp(o *object) (world.App, error) {
	app := world.App{
		DeploymentID: o.text("deploymentId", maxName),
		SDK:          o.text("sdk", maxResolve),
		Namespace:    o.namespace("namespace"),
		Lease:        o.seconds("leaseSeconds", maxLease),
		Attach:       o.hasName("attach", attachStart),
	}
	base := o.text("baseUrl", maxBaseURL)
	if o.err != nil {
		return app, o.err
	}
	var err error
	if app.BaseURL, err = checkBaseURL(o.path, base); err != nil {
		return app, err
	}
	if app.DeploymentID == "" {
		return app, refuse.Invalid("%s.deploymentId is missing", o.path)
	}
	if app.SDK != "" && app.SDK != "v4" && app.SDK != "v5" {
		return app, refuse.Invalid("%s.sdk must be v4 or v5", o.path)
	}
	return app, nil
}

// namespace reads one of queue names; absent is none.
func (o *object) namespace(key string) string {
	ns := o.text(key, maxName)
	if ns != "" && !world.ValidNamespace(ns) {
		o.fail(key, "must be a lower-case letter, then such letters and digits")
	}
	return ns
}

// hasName reports whether a list of texts, which may be absent, has one among them. Others are for
// versions to come.
func (o *object) hasName(key, wanted string) bool {
	if o.get(key) == nil {
		return false
	}
	return slices.Contains(o.texts(key, maxNames, func(string) bool { return true }, "is not text"), wanted)
}

// seconds reads a whole number of seconds; absent is 0.
func (o *object) seconds(key string, most int64) time.Duration {
	n := o.whole(key)
	if n == nil {
		return 0
	}
	if *n < 0 || *n > most {
		o.fail(key, "must be from 0 to "+strconv.FormatInt(most, 10))
		return 0
	}
	return time.Duration(*n) * time.Second
}

// checkBaseURL takes http(s)://host[:port][/base] and takes the trailing slash off.
func checkBaseURL(path, base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case base == "":
		return "", refuse.Invalid("%s.baseUrl is missing", path)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "", refuse.Invalid("%s.baseUrl must be an http:// or https:// address of the app", path)
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return "", refuse.Invalid("%s.baseUrl must have no user name, query or fragment", path)
	}
	return strings.TrimRight(base, "/"), nil
}

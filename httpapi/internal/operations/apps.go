package operations

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	maxBaseURL = 2048              // bytes
	maxLease   = 30 * 24 * 60 * 60 // seconds

	// preloadStart is what a delivery may preload for an app: the answer to run_started.
	preloadStart = string(world.EventRunStarted)
)

func decodeApp(r *input.Request) (world.App, error) {
	body := r.Object()
	if body.Err != nil {
		return world.App{}, body.Err
	}
	return readApp(body)
}

// registerApp returns what is wrong with the registration.
func (a *API) registerApp(ctx context.Context, app world.App) ([]world.AppWarning, error) {
	err := a.Deps.Apps.RegisterApp(ctx, app)
	if err != nil || a.Deps.AppWarnings == nil {
		return nil, err
	}
	return a.Deps.AppWarnings(ctx, app), nil
}

// unregisterApp is called by an app that stops.
func (a *API) unregisterApp(ctx context.Context, app world.App) (nothing, error) {
	return nothing{}, a.Deps.Apps.UnregisterApp(ctx, app.BaseURL, app.DeploymentID)
}

func (a *API) listApps(ctx context.Context, _ nothing) ([]world.App, error) {
	return a.Deps.Apps.ListApps(ctx)
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
	if a.TakesPreload {
		o.Key("attach")
		e.Array(1)
		e.Text(preloadStart)
	}
	o.OptionalWhole("leaseSeconds", int(a.Lease/time.Second))
	o.OptionalMillis("seenAt", a.SeenAt)
	o.OptionalMillis("aliveUntil", a.AliveUntil)
	o.Flag("alive", a.Alive)
	o.OptionalText("refused", a.Refused)
	o.OptionalText("sharedWith", a.SharedWith)
	o.End()
}

// readApp reads and checks an App. Fields that the registry sets are ignored.
func readApp(o *input.Object) (world.App, error) {
	app := world.App{
		DeploymentID: o.Text("deploymentId", input.MaxName),
		SDK:          o.Text("sdk", input.MaxResolve),
		Namespace:    o.Namespace("namespace"),
		Lease:        o.Seconds("leaseSeconds", maxLease),
		TakesPreload: o.HasName("attach", preloadStart),
	}
	readIdentity(o, &app)
	base := o.Text("baseUrl", maxBaseURL)
	if o.Err != nil {
		return app, o.Err
	}
	var err error
	if app.BaseURL, err = checkBaseURL(o.Path, base); err != nil {
		return app, err
	}
	if app.DeploymentID == "" {
		return app, refuse.Invalid("%s.deploymentId is missing", o.Path)
	}
	if app.SDK != "" && app.SDK != "v4" && app.SDK != "v5" {
		return app, refuse.Invalid("%s.sdk must be v4 or v5", o.Path)
	}
	return app, nil
}

// checkBaseURL accepts http(s)://host[:port][/base] and removes a trailing slash.
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

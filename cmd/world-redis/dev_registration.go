package main

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/world-redis/world-redis"
)

// devLease is the lease of the registration for an app that does not register, renewed in each third of it.
const devLease = 30 * time.Second

// appNames are what an app that does not register would be called.
type appNames struct {
	deployment, namespace string
	paths                 []string // base paths of the settings
}

// register registers the app for the deployments that have no live app: it may never register itself. If it does, its own
// registration counts, which says more about it.
func (a *devApp) register(ctx context.Context) {
	apps, err := a.registry.ListApps(ctx)
	if err != nil {
		return // Redis is away; the next look tries again
	}
	found := a.where()
	base := "http://" + found.addr.String() + found.path
	wanted := []world.App{{DeploymentID: a.names.deployment, Namespace: a.names.namespace}}
	for _, app := range apps {
		known := slices.ContainsFunc(wanted, func(w world.App) bool { return w.DeploymentID == app.DeploymentID })
		if u, err := url.Parse(app.BaseURL); err == nil && isLoopbackHost(u.Hostname()) && !known {
			wanted = append(wanted, world.App{DeploymentID: app.DeploymentID, SDK: app.SDK, Namespace: app.Namespace, TakesPreload: app.TakesPreload})
		}
	}
	var registered []world.App
	for _, app := range wanted {
		if slices.ContainsFunc(apps, func(other world.App) bool {
			return other.DeploymentID == app.DeploymentID && other.Alive && !a.isOwn(other)
		}) {
			continue
		}
		app.BaseURL, app.Lease = base, devLease
		if a.registry.RegisterApp(ctx, app) == nil {
			registered = append(registered, app)
		}
	}
	for _, app := range a.registered {
		again := slices.ContainsFunc(registered, func(r world.App) bool { return r.DeploymentID == app.DeploymentID && r.BaseURL == app.BaseURL })
		current := slices.ContainsFunc(apps, func(other world.App) bool {
			return other.BaseURL == app.BaseURL && other.DeploymentID == app.DeploymentID && a.isOwn(other)
		})
		if !again && current {
			_ = a.registry.UnregisterApp(ctx, app.BaseURL, app.DeploymentID) // otherwise its lease lapses soon
		}
	}
	a.registered = registered
}

// isOwn reports whether a registration is by this process. The app itself may have written over it.
func (a *devApp) isOwn(app world.App) bool {
	return slices.ContainsFunc(a.registered, func(r world.App) bool {
		return r.BaseURL == app.BaseURL && r.DeploymentID == app.DeploymentID && r.SDK == app.SDK && r.TakesPreload == app.TakesPreload
	})
}

// namesOf reads from the command's variables what its app would register, and the base paths that frameworks take from there.
func namesOf(environ []string) appNames {
	set := environment(environ)
	names := appNames{deployment: set.get("WORKFLOW_DEPLOYMENT_ID"), namespace: set.get("WORKFLOW_QUEUE_NAMESPACE")}
	if names.deployment == "" {
		names.deployment = defaultDeployment
	}
	for _, name := range []string{"NITRO_APP_BASE_URL", "NUXT_APP_BASE_URL"} {
		names.paths = append(names.paths, set.get(name))
	}
	return names
}

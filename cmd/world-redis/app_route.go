package main

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
)

// routeCached is how long a process uses a route, or that there is none, without reading it.
const routeCached = 10 * time.Second

// routedApp is an app that registered localhost from another machine.
type routedApp struct {
	baseURL, deploymentID string
	from                  netip.Addr
}

// knownRoute is the address at which such an app is reached; empty: none is known.
type knownRoute struct {
	address string
	readAt  time.Time
}

func routedOf(r registration) routedApp {
	return routedApp{strings.TrimRight(r.BaseURL, "/"), r.DeploymentID, r.from}
}

// atCaller tries the address that an app registered from, in place of its localhost. Anyone can register any port, so
// that needs a token, and the process has to prove there that it is the one that registered.
func (p appProbe) atCaller(ctx context.Context, r registration, there appFinding) appFinding {
	route := callerURL(r)
	advice := "the service would reach it at " + route + ", if it listens there"
	switch {
	case r.Nonce == "": // an older client
	case !p.hasToken:
		advice = "the service tries the address that an app calls from only if it has a token (WORKFLOW_WORLD_TOKEN); it is " + r.from.String()
	default:
		if err := p.mayCall(route); err != nil {
			advice = err.Error()
			break
		}
		who, known, err := p.who(ctx, route, r.Nonce)
		if err == nil && known && who.Proved {
			return appFinding{Route: route, proved: true}
		}
		advice = "this app does not answer at " + route
		if err != nil {
			advice += " either: " + err.Error()
		}
	}
	if there.good() {
		return there
	}
	return appFinding{Code: world.LocalhostOfContainer, Reason: advice}
}

// callerURL is the registered address with the caller's IP address as its host.
func callerURL(r registration) string {
	u, err := url.Parse(r.BaseURL)
	if err != nil {
		return r.BaseURL
	}
	host := r.from.String()
	if port := u.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	} else if r.from.Is6() {
		host = "[" + host + "]"
	}
	u.Host = host
	return strings.TrimRight(u.String(), "/")
}

// routed returns an app with the address at which it is reached.
func (c *appCheck) routed(ctx context.Context, r registration) world.App {
	if !isRemote(r.from) || !isLocalhost(r.BaseURL) {
		return r.App
	}
	key := routedOf(r)
	c.mu.Lock()
	known, ok := c.routes[key]
	c.mu.Unlock()
	if c.notes != nil && (!ok || time.Since(known.readAt) >= routeCached) {
		if note, err := c.notes.AppNote(ctx, aboutRoute(key)); err == nil { // otherwise the last one is used
			known = knownRoute{string(note), time.Now()}
			c.keepRoute(key, known)
		}
	}
	if known.address != "" {
		r.BaseURL = known.address
	}
	return r.App
}

func (c *appCheck) keepRoute(key routedApp, known knownRoute) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.routes) >= checksKept {
		clear(c.routes)
	}
	c.routes[key] = known
}

// setRoute keeps the result of a check. If the app was just found at another address, its registration moves there.
func (c *appCheck) setRoute(ctx context.Context, r registration, route string) {
	if !isRemote(r.from) || !isLocalhost(r.BaseURL) {
		return
	}
	key := routedOf(r)
	before := c.routed(ctx, r).BaseURL
	if route == "" && before == r.BaseURL {
		return
	}
	c.keepRoute(key, knownRoute{route, time.Now()})
	if c.notes != nil {
		if err := c.notes.SetAppNote(ctx, aboutRoute(key), []byte(route), noteKept); err != nil {
			c.log.Debug("the address of an app was not kept", slog.String("app", r.BaseURL), slog.Any("error", err))
		}
	}
	if route == "" || route == before {
		return
	}
	moved := r.App
	moved.BaseURL = route
	err := c.AppRegistry.RegisterApp(ctx, moved)
	if err == nil {
		err = c.AppRegistry.UnregisterApp(ctx, r.BaseURL, r.DeploymentID)
	}
	if err != nil { // its next registration does it
		c.log.Info("an app that registered localhost could not be moved to the address it calls from",
			slog.String("app", r.BaseURL), slog.String("reached_at", route), slog.Any("error", err))
		return
	}
	c.log.Info("an app that registered localhost gets its deliveries at the address that it calls from, where it has proved its identity",
		slog.String("app", r.BaseURL), slog.String("deployment", r.DeploymentID), slog.String("reached_at", route))
}

func aboutRoute(key routedApp) string {
	return "route\n" + key.baseURL + "\n" + key.deploymentID + "\n" + key.from.String()
}

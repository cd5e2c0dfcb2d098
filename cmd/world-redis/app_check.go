package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
)

const (
	// checksWaiting limits the addresses that wait for a check; further ones are not checked.
	checksWaiting = 1000
	checkTimeout  = 10 * time.Second
	// checksKept limits the addresses that are remembered.
	checksKept = 10_000
	// checksAtOnce limits the checks in progress.
	checksAtOnce = 256
)

// checkPauses are the waits before each try. The first ones are for apps that register before they listen, such as
// those that call world.start() during their setup. The last one is for apps that compile their routes at the first
// request: an app gets half a minute before the log warns of it.
var checkPauses = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 20 * time.Second}

// surelyOther is the try from which on the answer of another app is believed: a replaced app may answer for a moment.
const surelyOther = 2

// appCheck checks each address that an app registers, and the configured one, before there is a message for it. It
// logs once what is wrong there and returns it as warnings, and refuses nothing. An app that registers localhost from
// another machine gets the address that it calls from, if it proves to be there (app_route.go).
type appCheck struct {
	world.AppRegistry
	probe  func(ctx context.Context, r registration) appFinding
	notes  appNotes // nil: each process has only its own findings
	pauses []time.Duration
	log    *slog.Logger
	todo   chan checkTask

	mu     sync.Mutex
	seen   map[checkedApp]*checkState
	routes map[routedApp]knownRoute
	shared map[sharedAddress]world.Millis // when the other app was seen first
	warned map[sharedAddress]struct{}
}

// checkedApp is what is checked: one process that registered, or all with one address, if they do not say which they are.
type checkedApp struct{ baseURL, deploymentID, nonce string }

type checkState struct {
	busy bool
	last appFinding
	said world.AppWarningCode // in the log
}

type checkTask struct {
	registration
	once bool // one try: it was bad before
}

func checked(a world.App) checkedApp {
	return checkedApp{strings.TrimRight(a.BaseURL, "/"), a.DeploymentID, a.Nonce}
}

func newAppCheck(apps world.AppRegistry, probe func(context.Context, registration) appFinding, notes appNotes, logger *slog.Logger) *appCheck {
	return &appCheck{
		AppRegistry: apps, probe: probe, notes: notes, pauses: checkPauses, log: logger,
		todo: make(chan checkTask, checksWaiting), seen: map[checkedApp]*checkState{},
		routes: map[routedApp]knownRoute{}, shared: map[sharedAddress]world.Millis{}, warned: map[sharedAddress]struct{}{},
	}
}

// RegisterApp implements world.AppRegistry.
func (c *appCheck) RegisterApp(ctx context.Context, a world.App) error {
	r := registration{a, world.CallerOf(ctx)}
	if err := c.AppRegistry.RegisterApp(ctx, c.routed(ctx, r)); err != nil {
		return err
	}
	if a.Lease == 0 { // one with a lease is checked when it asks for its warnings
		c.look(checkTask{registration: r}, false)
	}
	return nil
}

// UnregisterApp implements world.AppRegistry. If the app registers again, it is checked again.
func (c *appCheck) UnregisterApp(ctx context.Context, baseURL, deploymentID string) error {
	a := world.App{BaseURL: baseURL, DeploymentID: deploymentID}
	gone := checked(a)
	c.mu.Lock()
	for key := range c.seen {
		if key.baseURL == gone.baseURL && key.deploymentID == gone.deploymentID {
			delete(c.seen, key)
		}
	}
	c.mu.Unlock()
	return c.AppRegistry.UnregisterApp(ctx, c.routed(ctx, registration{a, world.CallerOf(ctx)}).BaseURL, deploymentID)
}

// look schedules a check, unless there is one, or the app was checked and again is false.
func (c *appCheck) look(t checkTask, again bool) {
	key := checked(t.App)
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.seen[key]
	if state != nil && (state.busy || !again) {
		return
	}
	if state == nil {
		if len(c.seen) >= checksKept {
			clear(c.seen)
		}
		state = &checkState{}
	}
	select {
	case c.todo <- t:
		state.busy = true
		c.seen[key] = state
	default:
	}
}

func (c *appCheck) wanted(a world.App) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, wanted := c.seen[checked(a)]
	return wanted
}

// Run makes the checks until ctx ends.
func (c *appCheck) Run(ctx context.Context) error {
	var checks errgroup.Group
	checks.SetLimit(checksAtOnce)
	for {
		select {
		case <-ctx.Done():
			return checks.Wait()
		case t := <-c.todo:
			checks.Go(func() error {
				c.check(ctx, t)
				return nil
			})
		}
	}
}

func (c *appCheck) check(ctx context.Context, t checkTask) {
	pauses := c.pauses
	if t.once {
		pauses = []time.Duration{0}
	}
	var f appFinding
	for i, pause := range pauses {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		try, cancel := context.WithTimeout(ctx, checkTimeout)
		f = c.probe(try, t.registration)
		cancel()
		if ctx.Err() != nil || !c.wanted(t.App) {
			return
		}
		if f.good() || f.hopeless || f.Code != world.NoAnswer && i >= surelyOther {
			break
		}
		if f.Code == world.NoAnswer && i == len(pauses)-2 {
			c.log.Info("no workflow app answers yet at this address; the service checks once more",
				slog.String("app", t.BaseURL), slog.String("deployment", t.DeploymentID), slog.String("reason", f.Reason))
			c.note(ctx, t.registration, f)
		}
	}
	c.found(ctx, t.registration, f)
}

// found keeps the result of a check, and logs it if it is new.
func (c *appCheck) found(ctx context.Context, r registration, f appFinding) {
	c.note(ctx, r, f)
	c.setRoute(ctx, r, f.Route)
	if !c.isNews(r.App, f) {
		return
	}
	attrs := []any{slog.String("app", r.BaseURL), slog.String("deployment", r.DeploymentID)}
	switch f.Code {
	case "":
		if f.Route != "" {
			attrs = append(attrs, slog.String("reached_at", f.Route))
		}
		c.log.Info("a workflow app answers at this address", attrs...)
	case world.NoAnswer:
		from := "the app registered it"
		if r.DeploymentID == "" {
			from = "WORKFLOW_BASE_URL of this service"
		}
		c.log.Warn("no workflow app answers at this address; messages for it will wait", attrs[0], slog.String("from", from), attrs[1], slog.String("reason", f.Reason))
	default:
		c.log.Warn(sentenceOf(f.Code), append(attrs, slog.String("reason", f.Reason))...)
	}
}

// isNews reports whether the log does not say a result yet. That an app answers is said once for all processes with an
// address.
func (c *appCheck) isNews(a world.App, f appFinding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.seen[checked(a)]
	if state == nil {
		return false
	}
	before, first := state.said, state.last.At == 0
	state.busy, state.last, state.said = false, f, f.Code
	if !f.good() || before != "" {
		return before != f.Code
	}
	if !first {
		return false
	}
	for key, other := range c.seen {
		if other != state && other.last.At != 0 && other.last.good() && key.baseURL == strings.TrimRight(a.BaseURL, "/") && key.deploymentID == a.DeploymentID {
			return false
		}
	}
	return true
}

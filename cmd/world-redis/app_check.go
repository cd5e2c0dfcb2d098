package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/dialpolicy"
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

// appCheck checks each address that an app registers, and the configured one, before there is a message for it. It
// logs once what is wrong there, and refuses nothing.
type appCheck struct {
	world.AppRegistry
	probe  func(ctx context.Context, baseURL string) error
	pauses []time.Duration
	log    *slog.Logger
	todo   chan world.App

	mu   sync.Mutex
	seen map[checkedApp]struct{}
}

type checkedApp struct{ baseURL, deploymentID string }

func checked(baseURL, deploymentID string) checkedApp {
	return checkedApp{strings.TrimRight(baseURL, "/"), deploymentID}
}

func newAppCheck(apps world.AppRegistry, probe func(context.Context, string) error, logger *slog.Logger) *appCheck {
	return &appCheck{
		AppRegistry: apps, probe: probe, pauses: checkPauses, log: logger,
		todo: make(chan world.App, checksWaiting), seen: map[checkedApp]struct{}{},
	}
}

// RegisterApp implements world.AppRegistry.
func (c *appCheck) RegisterApp(ctx context.Context, a world.App) error {
	if err := c.AppRegistry.RegisterApp(ctx, a); err != nil {
		return err
	}
	c.look(a)
	return nil
}

// UnregisterApp implements world.AppRegistry. If the app registers again, it is checked again.
func (c *appCheck) UnregisterApp(ctx context.Context, baseURL, deploymentID string) error {
	c.mu.Lock()
	delete(c.seen, checked(baseURL, deploymentID))
	c.mu.Unlock()
	return c.AppRegistry.UnregisterApp(ctx, baseURL, deploymentID)
}

// look schedules a check of an app, unless it was checked.
func (c *appCheck) look(a world.App) {
	key := checked(a.BaseURL, a.DeploymentID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, done := c.seen[key]; done {
		return
	}
	if len(c.seen) >= checksKept {
		clear(c.seen)
	}
	select {
	case c.todo <- a:
		c.seen[key] = struct{}{}
	default:
	}
}

func (c *appCheck) wanted(a world.App) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, wanted := c.seen[checked(a.BaseURL, a.DeploymentID)]
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
		case a := <-c.todo:
			checks.Go(func() error {
				c.check(ctx, a)
				return nil
			})
		}
	}
}

func (c *appCheck) check(ctx context.Context, a world.App) {
	var err error
	for i, pause := range c.pauses {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		try, cancel := context.WithTimeout(ctx, checkTimeout)
		err = c.probe(try, a.BaseURL)
		cancel()
		if err == nil {
			c.log.Info("a workflow app answers at this address", slog.String("app", a.BaseURL), slog.String("deployment", a.DeploymentID))
		}
		if err == nil || ctx.Err() != nil || !c.wanted(a) {
			return
		}
		refused := new(dialpolicy.RefusedError)
		if errors.As(err, &refused) {
			break // a retry does not help
		}
		if i == len(c.pauses)-2 {
			c.log.Info("no workflow app answers yet at this address; the service checks once more",
				slog.String("app", a.BaseURL), slog.String("deployment", a.DeploymentID), slog.String("reason", err.Error()))
		}
	}
	from := "the app registered it"
	if a.DeploymentID == "" {
		from = "WORKFLOW_BASE_URL of this service"
	}
	c.log.Warn("no workflow app answers at this address; messages for it will wait",
		slog.String("app", a.BaseURL), slog.String("from", from), slog.String("deployment", a.DeploymentID), slog.String("reason", err.Error()))
}

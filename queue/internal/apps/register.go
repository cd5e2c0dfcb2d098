package apps

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redisfault"
)

const (
	// keptFor is how long an app is kept that does not register again.
	keptFor = 30 * 24 * time.Hour
	// longLease is the lease of apps that do not renew theirs.
	longLease = world.Millis(keptFor / time.Millisecond)
	// freshFor is how long a registration is not written again. Clients send theirs with every message.
	freshFor = 5 * time.Second
	// retryFull is when an app that finds no room tries again, in seconds.
	retryFull = 60
)

// errFull is the error when the limit of registrations is reached and all of these apps are alive.
var errFull = errors.New("there is no room for another app")

// Register stores the registration of an app. If messages may wait for the app, it makes them due.
func (r *Registry) Register(ctx context.Context, a world.App) error {
	a.BaseURL = strings.TrimRight(a.BaseURL, "/")
	a.SeenAt, a.AliveUntil, a.Alive, a.Refused, a.RefusedCBOR = 0, 0, false, "", 0
	a.Nonce, a.SharedWith, a.OtherWorkflows, a.OthersUntil = "", "", "", 0 // the nonce is not stored
	if err := r.check(a); err != nil {
		return err
	}
	awaited := r.health.awaits(a)
	if !awaited && r.isFresh(a) {
		return nil
	}
	isNew, err := r.write(ctx, a)
	if err == nil && (isNew || awaited) {
		r.health.registered(a)
		err = r.cfg.Wake(ctx)
	}
	if errors.Is(err, errFull) {
		full := world.Errorf(world.CodeThrottled, "the app is not registered: %d apps are, which is the limit, and all of them are alive; unregister some, or let their leases lapse", limit)
		full.RetryAfter = retryFull
		return full
	}
	if err != nil {
		return world.Wrap(world.CodeUnavailable, err, "the app could not be registered: "+redisfault.Sentence(err))
	}
	r.wrote(a) // only now, so that the next registration wakes the messages if this one could not
	return nil
}

func (r *Registry) check(a world.App) error {
	if u, err := url.Parse(a.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return world.Errorf(world.CodeInvalid, "baseUrl %.200q is not an http or https address", a.BaseURL)
	}
	if err := r.cfg.MayCall(a.BaseURL); err != nil {
		return world.Errorf(world.CodeInvalid, "baseUrl is refused: %v", err)
	}
	if a.Lease < 0 || a.Lease > keptFor {
		return world.Errorf(world.CodeInvalid, "a lease of %s is not between 0 and 30 days", a.Lease)
	}
	return nil
}

// Unregister ends the lease of an app. The record stays, because it says what the messages of the deployment wait for.
func (r *Registry) Unregister(ctx context.Context, baseURL, deploymentID string) error {
	if err := r.end(ctx, world.App{BaseURL: strings.TrimRight(baseURL, "/"), DeploymentID: deploymentID}); err != nil {
		return world.Wrap(world.CodeUnavailable, err, "the app could not be unregistered: "+redisfault.Sentence(err))
	}
	return nil
}

func (r *Registry) end(ctx context.Context, which world.App) error {
	a, known, err := r.one(ctx, fieldOf(which))
	if err != nil {
		return err
	}
	now := r.now()
	if !known || a.AliveUntil <= now {
		return nil
	}
	r.forgetWritten(a)
	a.AliveUntil = now
	value, err := encode(a)
	if err != nil {
		return err
	}
	if err := r.cfg.Redis.HSet(ctx, r.cfg.Key, fieldOf(a), value).Err(); err != nil {
		return fmt.Errorf("write app: %w", err)
	}
	r.noteFull(false)
	r.invalidate()
	return nil
}

// write stores a registration. isNew reports that this app was not registered, or not alive, or registered as something else.
func (r *Registry) write(ctx context.Context, a world.App) (isNew bool, err error) {
	before, known, err := r.one(ctx, fieldOf(a))
	if err != nil {
		return false, err
	}
	a.SeenAt = r.now()
	a.AliveUntil = a.SeenAt + world.Millis(a.Lease.Milliseconds())
	if a.Lease == 0 {
		a.AliveUntil = a.SeenAt + longLease
	}
	isNew = true
	if known && before.AliveUntil > a.SeenAt {
		if a.Lease == 0 && before.Lease != 0 {
			return false, nil // a client that sends a registration with its messages is not the app that renews its lease
		}
		keepWorkflows(&a, before)
		isNew = before.SDK != a.SDK || before.Namespace != a.Namespace || before.TakesPreload != a.TakesPreload
		if !isNew {
			a.RefusedCBOR = before.RefusedCBOR
		}
	}
	value, err := encode(a)
	if err != nil {
		return false, err
	}
	if r.isCleaning() {
		if err := r.drop(ctx, func(apps []world.App) []string { return outdated(apps, a.SeenAt) }); err != nil {
			return false, err
		}
	}
	stored, err := r.store(ctx, a, value)
	if err == nil && !stored && !r.isFull() {
		if err = r.drop(ctx, func(apps []world.App) []string { return oldestDead(apps, a.SeenAt) }); err == nil {
			stored, err = r.store(ctx, a, value)
		}
		r.noteFull(err == nil && !stored)
	}
	if err != nil {
		return false, err
	}
	if !stored {
		return false, errFull
	}
	r.invalidate()
	return isNew, nil
}

func (r *Registry) store(ctx context.Context, a world.App, value []byte) (stored bool, err error) {
	reply, err := r.cfg.Script.Run(ctx, r.cfg.Redis, []string{r.cfg.Key}, fieldOf(a), value, limit)
	if err != nil {
		return false, fmt.Errorf("write app: %w", err)
	}
	if len(reply) == 0 {
		return false, luascript.ErrShortReply
	}
	code, err := luascript.Int(reply[0])
	return code == 1, err
}

// isFresh reports whether this process has just written a registration.
func (r *Registry) isFresh(a world.App) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.written[a]
	return ok && r.cfg.Clock.Now().Sub(at) < freshFor
}

func (r *Registry) wrote(a world.App) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Clock.Now()
	for other, at := range r.written {
		if now.Sub(at) >= freshFor {
			delete(r.written, other)
		}
	}
	r.written[a] = now
}

func (r *Registry) forgetWritten(a world.App) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.written {
		if fieldOf(other) == fieldOf(a) {
			delete(r.written, other)
		}
	}
}

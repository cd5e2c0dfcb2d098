package queue

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisfault"
)

const (
	// appKept is how long an app is remembered that does not register again.
	appKept = 30 * 24 * time.Hour
	// lapsedKept is how long one whose lease has lapsed is listed, unless it is the newest of
	// its deployment: apps that get another address at every start would else fill the list.
	lapsedKept = 24 * time.Hour
	// longLease is of apps that do not renew it.
	longLease = world.Millis(appKept / time.Millisecond)
	// appFresh is how long a registration need not be written again. Clients send theirs
	// along with every message.
	appFresh = 5 * time.Second
	// appsCached is how long the list is used without asking Redis. Changes are heard of
	// sooner, see wake.lua.
	appsCached = 2 * time.Second
)

// registry is the list of apps: in Redis, with a copy in this process.
type registry struct {
	q   *Queue
	key string

	changes atomic.Uint64 // of the list, as far as heard of
	mu      sync.Mutex    // of the rest; held while Redis is asked, so that one asks for all
	apps    []world.App
	asOf    uint64
	readAt  time.Time
	written map[world.App]time.Time // by this process; SeenAt is zero in the key
}

// appRecord is a value of the hash; its field is the deployment and the address.
type appRecord struct {
	BaseURL      string        `cbor:"1,keyasint"`
	DeploymentID string        `cbor:"2,keyasint"`
	SDK          string        `cbor:"3,keyasint,omitempty"`
	SeenAt       world.Millis  `cbor:"4,keyasint"`
	Namespace    string        `cbor:"5,keyasint,omitempty"`
	Lease        time.Duration `cbor:"6,keyasint,omitempty"`
	AliveUntil   world.Millis  `cbor:"7,keyasint,omitempty"` // earlier than the lease ends if the app said good-bye
	Attach       bool          `cbor:"8,keyasint,omitempty"`
}

func recordOf(a world.App) appRecord {
	return appRecord{
		BaseURL: a.BaseURL, DeploymentID: a.DeploymentID, SDK: a.SDK, SeenAt: a.SeenAt,
		Namespace: a.Namespace, Lease: a.Lease, AliveUntil: a.AliveUntil, Attach: a.Attach,
	}
}

func (r appRecord) app() world.App {
	if r.AliveUntil == 0 { // from before there were leases
		r.AliveUntil = r.SeenAt + longLease
	}
	return world.App{
		BaseURL: r.BaseURL, DeploymentID: r.DeploymentID, SDK: r.SDK, Namespace: r.Namespace,
		Lease: r.Lease, SeenAt: r.SeenAt, AliveUntil: r.AliveUntil, Attach: r.Attach,
	}
}

func newRegistry(q *Queue) *registry {
	return &registry{q: q, key: q.cfg.KeyPrefix + "apps", written: map[world.App]time.Time{}}
}

func appField(a world.App) string { return a.DeploymentID + "\n" + a.BaseURL }

// RegisterApp implements world.AppRegistry.
func (q *Queue) RegisterApp(ctx context.Context, a world.App) error {
	a.BaseURL = strings.TrimRight(a.BaseURL, "/")
	a.SeenAt, a.AliveUntil, a.Alive = 0, 0, false
	if u, err := url.Parse(a.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return world.Errorf(world.CodeInvalid, "baseUrl %.200q is not an http or https address", a.BaseURL)
	}
	if a.Lease < 0 || a.Lease > appKept {
		return world.Errorf(world.CodeInvalid, "a lease of %s is not between 0 and 30 days", a.Lease)
	}
	awaited := q.targets.awaits(a)
	if !awaited && q.registry.isFresh(a) {
		return nil
	}
	isNew, err := q.registry.write(ctx, a)
	if err == nil && (isNew || awaited) {
		q.targets.registered(a)
		err = q.wake(ctx)
	}
	if err != nil {
		return world.Wrap(world.CodeUnavailable, err, "the app could not be registered: "+redisfault.Sentence(err))
	}
	q.registry.wrote(a)
	return nil
}

// ListApps implements world.AppRegistry.
func (q *Queue) ListApps(ctx context.Context) ([]world.App, error) {
	apps, err := q.registry.read(ctx)
	if err != nil {
		return nil, world.Wrap(world.CodeUnavailable, err, "the apps could not be read: "+redisfault.Sentence(err))
	}
	now := q.nowMillis()
	for i := range apps {
		apps[i].Alive = apps[i].AliveUntil > now
	}
	return apps, nil
}

// UnregisterApp implements world.AppRegistry.
func (q *Queue) UnregisterApp(ctx context.Context, baseURL, deploymentID string) error {
	if err := q.registry.end(ctx, strings.TrimRight(baseURL, "/"), deploymentID); err != nil {
		return world.Wrap(world.CodeUnavailable, err, "the app could not be unregistered: "+redisfault.Sentence(err))
	}
	return nil
}

// end ends the lease of an app. The record stays: it tells what the messages of the
// deployment wait for.
func (r *registry) end(ctx context.Context, baseURL, deploymentID string) error {
	apps, err := r.read(ctx)
	if err != nil {
		return err
	}
	now := r.q.nowMillis()
	for _, a := range apps {
		if a.BaseURL != baseURL || a.DeploymentID != deploymentID || a.AliveUntil <= now {
			continue
		}
		r.forgetWritten(a)
		a.AliveUntil = now
		value, err := cbor.Marshal(recordOf(a))
		if err != nil {
			return fmt.Errorf("encode app: %w", err)
		}
		if err := r.q.redis.HSet(ctx, r.key, appField(a), value).Err(); err != nil {
			return fmt.Errorf("write app: %w", err)
		}
		r.invalidate()
	}
	return nil
}

func (r *registry) forgetWritten(a world.App) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.written {
		if appField(other) == appField(a) {
			delete(r.written, other)
		}
	}
}

func (r *registry) isFresh(a world.App) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.written[a]
	return ok && r.q.cfg.Clock.Now().Sub(at) < appFresh
}

func (r *registry) wrote(a world.App) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.q.cfg.Clock.Now()
	for other, at := range r.written {
		if now.Sub(at) >= appFresh {
			delete(r.written, other)
		}
	}
	r.written[a] = now
}

// write stores a registration and drops those that are too old. isNew says that there was
// no such app alive before.
func (r *registry) write(ctx context.Context, a world.App) (isNew bool, err error) {
	before, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	a.SeenAt = r.q.nowMillis()
	a.AliveUntil = a.SeenAt + world.Millis(a.Lease.Milliseconds())
	if a.Lease == 0 {
		a.AliveUntil = a.SeenAt + longLease
	}
	isNew = true
	for _, b := range before {
		if appField(b) != appField(a) || b.AliveUntil <= a.SeenAt {
			continue
		}
		if a.Lease == 0 && b.Lease != 0 {
			return false, nil // whoever sends this along is not the app that renews its lease
		}
		isNew = b.SDK != a.SDK || b.Namespace != a.Namespace || b.Attach != a.Attach
	}
	old := outdated(before, a.SeenAt)
	value, err := cbor.Marshal(recordOf(a))
	if err != nil {
		return false, fmt.Errorf("encode app: %w", err)
	}
	pipe := r.q.redis.Pipeline()
	if len(old) > 0 {
		pipe.HDel(ctx, r.key, old...)
	}
	pipe.HSet(ctx, r.key, appField(a), value)
	if _, err := pipe.Exec(ctx); err != nil {
		return false, fmt.Errorf("write app: %w", err)
	}
	r.invalidate()
	return isNew, nil
}

// outdated are the fields of registrations that need not be kept. The apps are the newest first.
func outdated(apps []world.App, now world.Millis) []string {
	var old []string
	seen := map[string]bool{}
	for _, a := range apps {
		age := now - max(a.SeenAt, min(a.AliveUntil, now))
		switch {
		case now-a.SeenAt > longLease, age > world.Millis(lapsedKept.Milliseconds()) && seen[a.DeploymentID]:
			old = append(old, appField(a))
		}
		seen[a.DeploymentID] = true
	}
	return old
}

func (r *registry) invalidate() { r.changes.Add(1) }

// cached returns the apps, newest first, as they were at most two seconds ago, and
// never older than a change that this process has heard of.
func (r *registry) cached(ctx context.Context) ([]world.App, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, now := r.changes.Load(), r.q.cfg.Clock.Now()
	if !r.readAt.IsZero() && r.asOf == changes && now.Sub(r.readAt) < appsCached {
		return r.apps, nil
	}
	apps, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	r.apps, r.asOf, r.readAt = apps, changes, now
	return apps, nil
}

func (r *registry) read(ctx context.Context) ([]world.App, error) {
	records, err := r.q.redis.HGetAll(ctx, r.key).Result()
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	apps := make([]world.App, 0, len(records))
	for field, value := range records {
		var a appRecord
		if err := cbor.Unmarshal([]byte(value), &a); err != nil {
			return nil, fmt.Errorf("read app %q: %w", field, err)
		}
		apps = append(apps, a.app())
	}
	slices.SortFunc(apps, func(a, b world.App) int {
		return cmp.Or(cmp.Compare(b.SeenAt, a.SeenAt), cmp.Compare(appField(a), appField(b)))
	})
	return apps, nil
}

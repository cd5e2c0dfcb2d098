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
)

const (
	// appKept is how long an app is remembered that does not register again.
	appKept = 30 * 24 * time.Hour
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
	BaseURL      string       `cbor:"1,keyasint"`
	DeploymentID string       `cbor:"2,keyasint"`
	SDK          string       `cbor:"3,keyasint,omitempty"`
	SeenAt       world.Millis `cbor:"4,keyasint"`
}

func newRegistry(q *Queue) *registry {
	return &registry{q: q, key: q.cfg.KeyPrefix + "apps", written: map[world.App]time.Time{}}
}

func appField(a world.App) string { return a.DeploymentID + "\n" + a.BaseURL }

// RegisterApp implements world.AppRegistry.
func (q *Queue) RegisterApp(ctx context.Context, a world.App) error {
	a.BaseURL, a.SeenAt = strings.TrimRight(a.BaseURL, "/"), 0
	if u, err := url.Parse(a.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return world.Errorf(world.CodeInvalid, "baseUrl %.200q is not an http or https address", a.BaseURL)
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
		return world.Wrap(world.CodeUnavailable, err, "the app could not be registered: Redis does not answer")
	}
	q.registry.wrote(a)
	return nil
}

// ListApps implements world.AppRegistry.
func (q *Queue) ListApps(ctx context.Context) ([]world.App, error) {
	apps, err := q.registry.read(ctx)
	if err != nil {
		return nil, world.Wrap(world.CodeUnavailable, err, "the apps could not be read: Redis does not answer")
	}
	return apps, nil
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

// write stores a registration and drops those that are too old. isNew says that the
// deployment gets another address by it, or another SDK.
func (r *registry) write(ctx context.Context, a world.App) (isNew bool, err error) {
	before, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	a.SeenAt = r.q.nowMillis()
	isNew = true
	var old []string
	for i, b := range before {
		if b.DeploymentID == a.DeploymentID && !slices.ContainsFunc(before[:i], func(c world.App) bool { return c.DeploymentID == a.DeploymentID }) {
			isNew = b.BaseURL != a.BaseURL || b.SDK != a.SDK
		}
		if a.SeenAt-b.SeenAt > world.Millis(appKept.Milliseconds()) {
			old = append(old, appField(b))
		}
	}
	value, err := cbor.Marshal(appRecord(a))
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
		apps = append(apps, world.App(a))
	}
	slices.SortFunc(apps, func(a, b world.App) int {
		return cmp.Or(cmp.Compare(b.SeenAt, a.SeenAt), cmp.Compare(appField(a), appField(b)))
	})
	return apps, nil
}

package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redisfault"
)

// The generations of the SDK.
const (
	SDKv4 = "v4"
	SDKv5 = "v5"
)

// cacheTime is how long the list is used without reading it from Redis again. A change in another process
// is noticed sooner, because a registration rings the doorbell (wake.lua).
const cacheTime = 2 * time.Second

// Config says what a Registry works on.
type Config struct {
	Redis  redis.UniversalClient
	Key    string            // of the hash of registrations
	Script *luascript.Script // register.lua
	// Replace is replace_app.lua.
	Replace *luascript.Script
	Clock   world.Clock
	// BaseURL is the address of the app of deployments that no app has ever registered for; empty: there is none.
	BaseURL string
	// MayCall returns why the service does not connect to an address.
	MayCall func(baseURL string) error
	// Wake makes the messages due that wait for an app. It is called when an app has registered that messages may wait for.
	Wake func(ctx context.Context) error
}

// Registry is the list of the apps of a namespace: in Redis, with a copy in this process.
type Registry struct {
	cfg    Config
	health *Health

	changes atomic.Uint64 // of the list that this process knows of
	mu      sync.Mutex    // of the following fields; held while Redis is read, so that one read serves all callers
	apps    []world.App   // the copy
	asOf    uint64        // the changes when it was read
	readAt  time.Time
	written map[world.App]time.Time // registrations that this process wrote; SeenAt is zero in the key
	cleaned time.Time               // when this process last removed registrations that need not be kept
	full    time.Time               // when the list was full of apps that are alive; zero: it is not
	// atBaseURL is when the app at the configured address, which has no registration, refused CBOR.
	atBaseURL world.Millis
}

// New returns the registry of the apps that the hash holds. It tells health of apps that register.
func New(cfg Config, health *Health) *Registry {
	return &Registry{cfg: cfg, health: health, written: map[world.App]time.Time{}}
}

// List returns all apps, newest first.
func (r *Registry) List(ctx context.Context) ([]world.App, error) {
	apps, err := r.read(ctx)
	if err != nil {
		return nil, world.Wrap(world.CodeUnavailable, err, "the apps could not be read: "+redisfault.Sentence(err))
	}
	now := r.now()
	for i := range apps {
		apps[i].Alive = apps[i].AliveUntil > now
	}
	markShared(apps)
	return apps, nil
}

// Changed is called when an app has registered, here or in another process. The list is read again, and apps that
// are down are tried again at once.
func (r *Registry) Changed() {
	r.invalidate()
	r.health.forgive()
}

func (r *Registry) invalidate() { r.changes.Add(1) }

func (r *Registry) now() world.Millis { return world.MillisOf(r.cfg.Clock.Now()) }

// cached returns the apps, newest first. They are at most two seconds old, and not older than the last change that this
// process knows of.
func (r *Registry) cached(ctx context.Context) ([]world.App, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, now := r.changes.Load(), r.cfg.Clock.Now()
	if !r.readAt.IsZero() && r.asOf == changes && now.Sub(r.readAt) < cacheTime {
		return r.apps, nil
	}
	apps, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	r.apps, r.asOf, r.readAt = apps, changes, now
	return apps, nil
}

// read reads all apps, newest first.
func (r *Registry) read(ctx context.Context) ([]world.App, error) {
	records, err := r.cfg.Redis.HGetAll(ctx, r.cfg.Key).Result()
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	apps := make([]world.App, 0, len(records))
	for field, value := range records {
		a, err := decode(field, value)
		if err != nil {
			return nil, err
		}
		if err := r.cfg.MayCall(a.BaseURL); err != nil { // it was stored with other settings, or by an older build
			a.Refused = err.Error()
		}
		apps = append(apps, a)
	}
	slices.SortFunc(apps, func(a, b world.App) int {
		return cmp.Or(cmp.Compare(b.SeenAt, a.SeenAt), cmp.Compare(fieldOf(a), fieldOf(b)))
	})
	return apps, nil
}

// one reads one registration.
func (r *Registry) one(ctx context.Context, field string) (a world.App, known bool, err error) {
	value, err := r.cfg.Redis.HGet(ctx, r.cfg.Key, field).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return world.App{}, false, nil
	case err != nil:
		return world.App{}, false, fmt.Errorf("read app: %w", err)
	}
	a, err = decode(field, value)
	return a, err == nil, err
}

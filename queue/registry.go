package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"

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
	// appsMost bounds the registrations of a namespace.
	appsMost = 1000
	// appsRoom is how many dead ones leave at once when a new one finds no room, so that not each has to look for its own.
	appsRoom = 50
	// appsTidied is how often one process looks for registrations that need not be kept.
	appsTidied = 10 * time.Minute
	// appsFull is when to try again, in seconds.
	appsFull = 60
	// appsFullFor is how long one process takes the list for full of apps that are alive, without looking again.
	appsFullFor = 5 * time.Second
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
	tidied  time.Time
	full    time.Time // when it had no room and nothing to drop; zero: not
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
	a.SeenAt, a.AliveUntil, a.Alive, a.Refused = 0, 0, false, ""
	if u, err := url.Parse(a.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return world.Errorf(world.CodeInvalid, "baseUrl %.200q is not an http or https address", a.BaseURL)
	}
	if err := q.cfg.MayCall(a.BaseURL); err != nil {
		return world.Errorf(world.CodeInvalid, "baseUrl is refused: %v", err)
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
	if errors.Is(err, errNoRoom) {
		full := world.Errorf(world.CodeThrottled, "the app is not registered: %d apps are, which is the limit, and all of them are alive; unregister some, or let their leases lapse", appsMost)
		full.RetryAfter = appsFull
		return full
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
	a, known, err := r.one(ctx, appField(world.App{BaseURL: baseURL, DeploymentID: deploymentID}))
	if err != nil {
		return err
	}
	now := r.q.nowMillis()
	if !known || a.AliveUntil <= now {
		return nil
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
	r.noteFull(false)
	r.invalidate()
	return nil
}

// one reads a registration.
func (r *registry) one(ctx context.Context, field string) (a world.App, known bool, err error) {
	value, err := r.q.redis.HGet(ctx, r.key, field).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return world.App{}, false, nil
	case err != nil:
		return world.App{}, false, fmt.Errorf("read app: %w", err)
	}
	a, err = r.decoded(field, value)
	return a, err == nil, err
}

func (r *registry) decoded(field, value string) (world.App, error) {
	var record appRecord
	if err := cbor.Unmarshal([]byte(value), &record); err != nil {
		return world.App{}, fmt.Errorf("read app %q: %w", field, err)
	}
	return record.app(), nil
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

// errNoRoom says that there are as many registrations as there may be, of apps that are alive.
var errNoRoom = errors.New("there is no room for another app")

// write stores a registration. isNew says that there was no such app alive before.
func (r *registry) write(ctx context.Context, a world.App) (isNew bool, err error) {
	before, known, err := r.one(ctx, appField(a))
	if err != nil {
		return false, err
	}
	a.SeenAt = r.q.nowMillis()
	a.AliveUntil = a.SeenAt + world.Millis(a.Lease.Milliseconds())
	if a.Lease == 0 {
		a.AliveUntil = a.SeenAt + longLease
	}
	isNew = true
	if known && before.AliveUntil > a.SeenAt {
		if a.Lease == 0 && before.Lease != 0 {
			return false, nil // whoever sends this along is not the app that renews its lease
		}
		isNew = before.SDK != a.SDK || before.Namespace != a.Namespace || before.Attach != a.Attach
	}
	value, err := cbor.Marshal(recordOf(a))
	if err != nil {
		return false, fmt.Errorf("encode app: %w", err)
	}
	if r.isTidying() {
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
		return false, errNoRoom
	}
	r.invalidate()
	return isNew, nil
}

func (r *registry) store(ctx context.Context, a world.App, value []byte) (stored bool, err error) {
	reply, err := r.q.scripts.register.Run(ctx, r.q.redis, []string{r.key}, appField(a), value, appsMost)
	if err != nil {
		return false, fmt.Errorf("write app: %w", err)
	}
	code, err := replyCode(reply)
	return code == 1, err
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
		a, err := r.decoded(field, value)
		if err != nil {
			return nil, err
		}
		if err := r.q.cfg.MayCall(a.BaseURL); err != nil { // it was stored with other settings, or by an older build
			a.Refused = err.Error()
		}
		apps = append(apps, a)
	}
	slices.SortFunc(apps, func(a, b world.App) int {
		return cmp.Or(cmp.Compare(b.SeenAt, a.SeenAt), cmp.Compare(appField(a), appField(b)))
	})
	return apps, nil
}

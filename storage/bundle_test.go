package storage

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// bundle is a store with a clock that the test moves, and shorthand for the events of a run.
type bundle struct {
	*Store
	t     testing.TB
	ctx   context.Context
	redis *redistest.Redis
	clock *worldtest.Clock
	spec  int // of its runs and events; 0 is 3
	// streams is called with runs that keep nothing; nil disables it.
	streams *purges
	others  []*Store // on the same Redis
}

// on returns the bundle for another test, and for runs of a spec version.
func (b *bundle) on(t testing.TB, spec int) *bundle {
	t.Helper()
	return &bundle{Store: b.Store, t: t, ctx: t.Context(), redis: b.redis, clock: b.clock, spec: spec, streams: b.streams, others: b.others}
}

// quiet returns when the stores have done the work that calls leave to the background.
func (b *bundle) quiet() {
	b.index.WaitUnlisted()
	b.removing.wait()
	for _, store := range b.others {
		store.index.WaitUnlisted()
		store.removing.wait()
	}
}

func newBundle(t testing.TB, r *redistest.Redis) *bundle {
	t.Helper()
	clock := worldtest.StoppedClock(time.UnixMilli(1_800_000_000_000))
	store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: clock})
	require.NoError(t, err)
	return &bundle{Store: store, t: t, ctx: t.Context(), redis: r, clock: clock}
}

// caller makes the calls of storagetest.
func (b *bundle) caller() *storagetest.Caller {
	return &storagetest.Caller{Store: b.Store, T: b.t, Ctx: b.ctx, Clock: b.clock, Spec: b.spec}
}

// subject is a bundle as storagetest sees it.
func (b *bundle) subject() *storagetest.Subject {
	return &storagetest.Subject{
		Store: b.Store, Clock: b.clock,
		Upkeep: func(t testing.TB) { t.Helper(); b.on(t, b.spec).sweep() },
		Check:  func(t testing.TB, runIDs ...string) { t.Helper(); b.on(t, b.spec).checkIndexes(runIDs...) },
	}
}

// Shorthand for what storagetest has, too.

const (
	x          = storagetest.X
	firstStart = storagetest.FirstStart
	retained   = storagetest.Retained
	retention  = storagetest.Retention
)

func raw(t testing.TB, v any) world.Raw { t.Helper(); return worldtest.Raw(t, v) }

func data(t testing.TB, pairs ...any) world.Fields { t.Helper(); return storagetest.Data(t, pairs...) }

func sample(b *bundle, e world.EventType) world.Fields { return b.caller().Sample(e) }

func (b *bundle) runData() world.Fields { return b.caller().RunData() }

func (b *bundle) send(runID string, eventType world.EventType, correlationID string, data world.Fields) world.EventResult {
	b.t.Helper()
	return b.caller().Send(runID, eventType, correlationID, data)
}

func (b *bundle) try(runID string, eventType world.EventType, correlationID string, data world.Fields) (world.EventResult, error) {
	return b.caller().Try(runID, eventType, correlationID, data)
}

func (b *bundle) request(runID string, eventType world.EventType, correlationID string, data world.Fields) world.CreateEvent {
	return b.caller().Request(runID, eventType, correlationID, data)
}

func (b *bundle) entry(e world.EventType, correlationID string) world.CreateEvent {
	return b.caller().Entry(e, correlationID)
}

func (b *bundle) newRun() string { b.t.Helper(); return b.caller().NewRun() }

func (b *bundle) running() string { b.t.Helper(); return b.caller().Running() }

func (b *bundle) events(runID string) []world.Event { b.t.Helper(); return b.caller().Events(runID) }

// scene brings a run into a state.
type scene func(b *bundle) (runID string)

// then returns a scene that continues with more events.
func (s scene) then(events ...world.EventType) scene {
	return func(b *bundle) string {
		return storagetest.Scene(func(*storagetest.Caller) string { return s(b) }).Then(events...)(b.caller())
	}
}

// sceneOf is a scene of storagetest.
func sceneOf(s storagetest.Scene) scene { return func(b *bundle) string { return s(b.caller()) } }

func types(events []world.Event) []world.EventType {
	out := make([]world.EventType, len(events))
	for i, e := range events {
		out[i] = e.Type
	}
	return out
}

func zOf(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }

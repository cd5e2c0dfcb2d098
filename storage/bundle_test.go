package storage

import (
	"context"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// bundle is a store with a clock that the test moves, and shorthand for the events of a run.
type bundle struct {
	*Store
	t     testing.TB
	ctx   context.Context
	redis *redistest.Redis
	clock *worldtest.Clock
	spec  int // of its runs and events; 0 is 3
	// streams is told of runs that keep nothing; nil: nobody is.
	streams *purges
	others  []*Store // on the same Redis
}

func (b *bundle) version() int {
	if b.spec == 0 {
		return 3
	}
	return b.spec
}

// on returns the bundle for another test, and for runs of a spec version.
func (b *bundle) on(t testing.TB, spec int) *bundle {
	t.Helper()
	return &bundle{Store: b.Store, t: t, ctx: t.Context(), redis: b.redis, clock: b.clock, spec: spec, streams: b.streams, others: b.others}
}

// quiet returns when the stores have done what calls leave to do behind them.
func (b *bundle) quiet() {
	b.departures.wait()
	for _, store := range b.others {
		store.departures.wait()
	}
}

func newBundle(t testing.TB, r *redistest.Redis) *bundle {
	t.Helper()
	clock := worldtest.StoppedClock(time.UnixMilli(1_800_000_000_000))
	store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: clock})
	require.NoError(t, err)
	return &bundle{Store: store, t: t, ctx: t.Context(), redis: r, clock: clock}
}

// raw encodes a value as a client would.
func raw(t testing.TB, v any) world.Raw {
	t.Helper()
	b, err := cbor.Marshal(v)
	require.NoError(t, err)
	return b
}

// data makes eventData of alternating keys and values.
func data(t testing.TB, pairs ...any) world.Fields {
	t.Helper()
	out := world.Fields{}
	for i := 0; i < len(pairs); i += 2 {
		value, ok := pairs[i+1].(world.Raw)
		if !ok {
			value = raw(t, pairs[i+1])
		}
		out = append(out, world.Field{Key: pairs[i].(string), Value: value})
	}
	return out
}

// runData is the eventData of run_created and of an offer in run_started.
func (b *bundle) runData() world.Fields {
	return data(b.t, "deploymentId", "dpl_1", "workflowName", "wf", "input", []byte("in"),
		"executionContext", map[string]any{"workflowCoreVersion": "4.8.9"})
}

// send creates an event that must be accepted.
func (b *bundle) send(runID string, eventType world.EventType, correlationID string, data world.Fields) world.EventResult {
	b.t.Helper()
	result, err := b.try(runID, eventType, correlationID, data)
	require.NoError(b.t, err, "%s %s", eventType, correlationID)
	return result
}

func (b *bundle) try(runID string, eventType world.EventType, correlationID string, data world.Fields) (world.EventResult, error) {
	return b.CreateEvent(b.ctx, b.request(runID, eventType, correlationID, data))
}

// request is what try sends.
func (b *bundle) request(runID string, eventType world.EventType, correlationID string, data world.Fields) world.CreateEvent {
	switch eventType {
	case firstStart:
		eventType = world.EventStepStarted
	case retained:
		eventType = world.EventHookCreated
	}
	return world.CreateEvent{RunID: runID, Type: eventType, CorrelationID: correlationID, Data: data, SpecVersion: b.version()}
}

// newRun creates a run and returns its id.
func (b *bundle) newRun() string {
	b.t.Helper()
	return b.send("", world.EventRunCreated, "", b.runData()).Run.RunID
}

// running creates a run and starts it.
func (b *bundle) running() string {
	b.t.Helper()
	runID := b.newRun()
	b.send(runID, world.EventRunStarted, "", nil)
	return runID
}

// log returns all events of a run.
func (b *bundle) events(runID string) []world.Event {
	b.t.Helper()
	page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID})
	require.NoError(b.t, err)
	require.False(b.t, page.HasMore)
	return page.Data
}

func types(events []world.Event) []world.EventType {
	out := make([]world.EventType, len(events))
	for i, e := range events {
		out[i] = e.Type
	}
	return out
}

func zOf(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }

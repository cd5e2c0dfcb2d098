package recovery

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/storage"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find) }

// fakeQueue records the queued messages. A known request id adds nothing, as in the queue.
type fakeQueue struct {
	mu       sync.Mutex
	messages []world.Message
	requests map[string]bool
	busy     map[string]bool         // runs with a message
	due      map[string]world.Millis // when that of a run is due, if it is delayed
	// meanwhile is called before the queue says what is due; nil disables it.
	meanwhile func()
	looks     int    // runs that were asked for
	refused   string // run whose messages are refused
	apps      []world.App
	steps     map[string][]world.Message // what StepMessages answers
	asked     int                        // runs that it was asked for
	failing   error
}

func (q *fakeQueue) StepMessages(_ context.Context, runIDs []string) ([][]world.Message, error) {
	q.asked += len(runIDs)
	out := make([][]world.Message, len(runIDs))
	for i, id := range runIDs {
		out[i] = q.steps[id]
	}
	return out, q.failing
}

func (q *fakeQueue) ListApps(context.Context) ([]world.App, error) { return q.apps, nil }

func (q *fakeQueue) Enqueue(_ context.Context, m world.Message) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.RunID == q.refused {
		return "", world.Errorf(world.CodeInvalid, "no message for %s", m.RunID)
	}
	if !q.requests[m.RequestID] {
		q.requests[m.RequestID] = true
		q.messages = append(q.messages, m)
	}
	return fmt.Sprintf("msg_%d", len(q.messages)), nil
}

func (q *fakeQueue) NextDue(_ context.Context, runIDs []string) ([]world.Millis, error) {
	if q.meanwhile != nil {
		q.meanwhile()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]world.Millis, len(runIDs))
	for i, id := range runIDs {
		q.looks++
		if out[i] = q.due[id]; q.busy[id] {
			out[i] = 1
		}
	}
	return out, nil
}

// woken returns the runs of the messages since the last call.
func (q *fakeQueue) woken() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := []string{}
	for _, m := range q.messages {
		out = append(out, m.RunID)
	}
	q.messages = nil
	return out
}

// fakeLeadership leads or does not. A function that is called before each portion may change that.
type fakeLeadership struct {
	leads  bool
	before func()
}

func (l *fakeLeadership) Await(ctx context.Context) bool { return ctx.Err() == nil }

func (l *fakeLeadership) Lead(ctx context.Context, portion func(context.Context) error) (bool, error) {
	if l.before != nil {
		l.before()
	}
	if !l.leads {
		return false, nil
	}
	return true, portion(ctx)
}

// bundle is a reconciler on a real store.
type bundle struct {
	*Reconciler
	t      *testing.T
	store  *storage.Store
	queue  *fakeQueue
	leads  *fakeLeadership
	clock  *worldtest.Clock
	minter *ids.Minter
}

func newBundle(t *testing.T, r *redistest.Redis) *bundle {
	t.Helper()
	clock := worldtest.StoppedClock(time.UnixMilli(1_800_000_000_000))
	store, err := storage.New(t.Context(), r.Client, storage.Config{Prefix: r.Prefix, Clock: clock})
	require.NoError(t, err)
	leads := &fakeLeadership{leads: true}
	queue := &fakeQueue{requests: map[string]bool{}, busy: map[string]bool{}, due: map[string]world.Millis{}, steps: map[string][]world.Message{}}
	return &bundle{
		Reconciler: New(store, queue, Config{Leadership: leads, Clock: clock}), leads: leads,
		t: t, store: store, queue: queue, clock: clock, minter: ids.NewMinter(clock),
	}
}

// begin creates a running run of the given spec version.
func (b *bundle) begin(spec int) string {
	b.t.Helper()
	runID := b.minter.Prefixed("wrun_")
	b.clock.Add(time.Millisecond)
	b.event(runID, spec, world.EventRunCreated, "", "deploymentId", "dpl_1", "workflowName", "workflow//./a//f", "input", []byte{1})
	b.event(runID, spec, world.EventRunStarted, "")
	return runID
}

// event appends one with alternating keys and values as its data.
func (b *bundle) event(runID string, spec int, kind world.EventType, correlation string, pairs ...any) {
	b.t.Helper()
	var data world.Fields
	for i := 0; i < len(pairs); i += 2 {
		value, err := cbor.Marshal(pairs[i+1])
		require.NoError(b.t, err)
		data = append(data, world.Field{Key: pairs[i].(string), Value: value})
	}
	_, err := b.store.CreateEvent(b.t.Context(), world.CreateEvent{
		RunID: runID, Type: kind, CorrelationID: correlation, SpecVersion: spec, Data: data,
	})
	require.NoError(b.t, err)
}

func (b *bundle) hook(runID string, spec int, id string) {
	b.t.Helper()
	b.event(runID, spec, world.EventHookCreated, id, "token", "token of "+id)
}

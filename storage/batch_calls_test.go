package storage

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// A batch with as many events as allowed makes at most 2,000 calls, whatever its events are, and even if each step has
// an input, an error and an output in fields of their own. This also holds for a repeated batch, and for one that finds
// steps that differ from their events.
func TestBatchesOfTheMostEventsAreShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := newBundle(t, &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "batches:"}).on(t, 7)
	runID := b.running()
	payload := []byte("devl" + strings.Repeat("x", record.SplitAbove))
	due := b.clock.Now().Add(-time.Second).UnixMilli()
	contents := map[world.EventType]world.Fields{
		world.EventStepCreated:   data(t, "stepName", "add", "input", payload),
		world.EventStepRetrying:  data(t, "stepName", "add", "error", payload, "retryAfter", due),
		world.EventStepCompleted: data(t, "stepName", "add", "result", payload),
		world.EventStepFailed:    data(t, "stepName", "add", "error", payload),
	}
	// many is a batch of n rounds of these events, each for a new entity.
	many := func(prefix string, rounds int, kinds ...world.EventType) []world.CreateEvent {
		var all []world.CreateEvent
		for i := range rounds {
			for _, kind := range kinds {
				e := b.entry(kind, fmt.Sprintf("%s_%d", prefix, i))
				if content := contents[kind]; content != nil {
					e.Data = content
				}
				all = append(all, e)
			}
		}
		return all
	}
	monitor := redistest.NewMonitor(t, server.Addr)
	send := func(name string, want world.Code, events []world.CreateEvent) []world.BatchItem {
		t.Helper()
		items := b.batch(runID, name, events...)
		work := monitor.Since()
		require.Positive(t, work.Scripts)
		require.LessOrEqual(t, work.Calls, mostCalls, name)
		for i, code := range storagetest.ItemCodes(items) {
			require.Equal(t, want, code, "%s, event %d", name, i)
		}
		return items
	}
	again := func(name string, want []world.BatchItem, events []world.CreateEvent) {
		t.Helper()
		require.Equal(t, want, send(name, "", events), "%s, again", name)
	}
	spoil := func(steps int, change func(key string) error) {
		t.Helper()
		for i := range steps {
			require.NoError(t, change(b.keys.of(runID).step(fmt.Sprintf("spoilt_%d", i))))
		}
	}

	pairs := many("pair", world.MaxBatch/2, world.EventStepCreated, world.EventStepStarted)
	again("pairs", send("pairs", "", pairs), pairs)
	created := many("step", world.MaxBatch, world.EventStepCreated)
	again("created", send("created", "", created), created)
	send("created by others", world.CodeConflict, created)
	for _, kind := range []world.EventType{world.EventStepStarted, world.EventStepRetrying, world.EventStepStarted} {
		name := fmt.Sprintf("%s %s", kind, b.ids.New())
		events := many("step", world.MaxBatch, kind)
		items := send(name, "", events)
		again(name, items, events)
		require.Equal(t, raw(t, payload), items[world.MaxBatch-1].Result.Step.Input)
	}
	completed := many("step", world.MaxBatch, world.EventStepCompleted)
	items := send("completed", "", completed)
	require.Equal(t, raw(t, payload), items[world.MaxBatch-1].Result.Step.Output)
	require.Equal(t, 2, items[world.MaxBatch-1].Result.Step.Attempt)
	again("completed", items, completed)
	send("completed by others", world.CodeConflict, completed)

	send("to fail", "", many("fail", world.MaxBatch, world.EventStepCreated))
	send("retried", "", many("fail", world.MaxBatch, world.EventStepRetrying))
	failed := many("fail", world.MaxBatch, world.EventStepFailed)
	again("failed", send("failed", "", failed), failed)

	waits := many("wait", world.MaxBatch, world.EventWaitCreated)
	again("waits", send("waits", "", waits), waits)
	done := many("wait", world.MaxBatch, world.EventWaitCompleted)
	again("waits are over", send("waits are over", "", done), done)
	send("no waits", world.CodeWaitNotFound, many("none", world.MaxBatch, world.EventWaitCompleted))
	send("no steps", world.CodeStepNotFound, many("none", world.MaxBatch, world.EventStepStarted))

	send("to spoil", "", many("spoilt", world.MaxBatch, world.EventStepCreated))
	send("retried before", "", many("spoilt", world.MaxBatch, world.EventStepRetrying))
	spoil(world.MaxBatch, func(key string) error { return b.redis.Client.HSet(b.ctx, key, "s", "failed").Err() })
	monitor.Since()
	send("of spoilt steps", "", many("spoilt", world.MaxBatch, world.EventStepStarted))
	spoil(world.MaxBatch-1, func(key string) error { return b.redis.Client.Del(b.ctx, key).Err() })
	monitor.Since()
	items = send("of steps that are gone", "", append(many("spoilt", world.MaxBatch-1, world.EventStepCompleted), b.entry(world.EventRunCompleted, "")))
	require.Equal(t, raw(t, payload), items[world.MaxBatch-2].Result.Step.Error)
	require.EqualValues(t, 2*world.MaxBatch-1, b.Stats().StepsMended)
	b.check(runID)
}

// A step that differs from its events is mended, however many events it has, by a single event and by one of a batch.
// No script makes more than 2,000 calls, or reads more than 500 of the step's events or, with more than one, 1 MiB.
func TestAStepOfManyEventsIsMended(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := newBundle(t, &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "steps:"}).on(t, 7)
	const starts, errors = 20_100, 12
	for _, batched := range []bool{false, true} {
		for name, spoil := range map[string]func(key string) error{
			"completed": func(key string) error { return b.redis.Client.HSet(b.ctx, key, "s", "completed", "a", 1).Err() },
			"gone":      func(key string) error { return b.redis.Client.Del(b.ctx, key).Err() },
		} {
			runID := b.running()
			k := b.keys.of(runID)
			b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
			b.plantStarts(runID, starts)
			for range errors {
				b.send(runID, world.EventStepRetrying, x, data(t, "stepName", "add", "error", []byte(strings.Repeat("x", 300_000))))
			}
			require.NoError(t, spoil(k.step(x)))
			mended := b.Stats().StepsMended
			monitor := redistest.NewMonitor(t, server.Addr)
			if batched {
				items := b.batch(runID, "r", b.entry(world.EventWaitCreated, "wait_1"), b.entry(world.EventStepCompleted, x))
				require.Equal(t, make([]world.Code, 2), storagetest.ItemCodes(items), name)
			} else {
				b.send(runID, world.EventStepCompleted, x, sample(b, world.EventStepCompleted))
			}
			work := monitor.Since()
			monitor.Close()
			require.LessOrEqual(t, work.Calls, mostCalls, name)
			require.GreaterOrEqual(t, work.Scripts, 1+errors/3+starts/mendEvents+1, name)
			require.Equal(t, mended+1, b.Stats().StepsMended)
			step, err := b.GetStep(b.ctx, runID, x, false)
			require.NoError(t, err)
			require.Equal(t, []any{world.StepCompleted, starts}, []any{step.Status, step.Attempt}, name)
			require.Equal(t, []any{"2", strconv.Itoa(2 + starts + errors)}, b.redis.Client.HMGet(b.ctx, k.step(x), "ie", "ee").Val())
			require.Contains(t, b.listed(k.steps()), x)
		}
	}
}

// plantStarts adds n step_started events of step x to the log of a run.
func (b *bundle) plantStarts(runID string, count int) {
	b.t.Helper()
	k := b.keys.of(runID)
	encoded, _, err := record.Encode(eventOf(b.request(runID, world.EventStepStarted, x, nil)))
	require.NoError(b.t, err)
	state := b.redis.Client.HMGet(b.ctx, k.run(), "en", "et").Val()
	first := record.Int(state[0].(string))
	_, err = b.redis.Client.Pipelined(b.ctx, func(p redis.Pipeliner) error {
		for at := first; at < first+count; {
			var events []any
			var related []redis.Z
			for ; at < first+count && len(related) < 1000; at++ {
				events = append(events, at, state[1].(string)+"."+string(encoded))
				related = append(related, zOf(0, fmt.Sprintf("%s/%07d", x, at)))
			}
			p.HSet(b.ctx, k.events(), events...)
			p.ZAdd(b.ctx, k.related(), related...)
		}
		return p.HSet(b.ctx, k.run(), "en", first+count).Err()
	})
	require.NoError(b.t, err)
}

package storage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/storagetest"
)

func (b *bundle) batch(runID, requestID string, events ...world.CreateEvent) []world.BatchItem {
	b.t.Helper()
	items, err := b.CreateBatch(b.ctx, world.CreateBatch{RunID: runID, RequestID: requestID, Events: events})
	require.NoError(b.t, err)
	require.Len(b.t, items, len(events))
	return items
}

// A batch is stored in its order, in consecutive slots, and each event is answered as if it had been sent alone.
func TestBatch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		items := b.batch(runID, "r1",
			b.entry(world.EventStepCreated, "step_1"), b.entry(world.EventStepCreated, "step_2"), b.entry(world.EventStepStarted, "step_2"),
			b.entry(world.EventWaitCreated, "wait_1"))
		require.Equal(t, make([]world.Code, 4), storagetest.ItemCodes(items))
		log := b.events(runID)
		require.Len(t, log, 6)
		for i, item := range items {
			require.Equal(t, log[2+i], *item.Result.Event)
			require.Equal(t, 3+i, storagetest.SlotOf(item.Result.Event.EventID))
		}
		pending := world.Step{
			RunID: runID, StepID: "step_2", StepName: "add", Status: world.StepPending, Input: raw(t, []byte{1}), SpecVersion: 7,
			CreatedAt: b.now(), UpdatedAt: b.now(),
		}
		require.Equal(t, pending, *items[1].Result.Step)
		running := pending
		running.Status, running.Attempt, running.StartedAt = world.StepRunning, 1, b.now()
		require.Equal(t, running, *items[2].Result.Step)
		require.Equal(t, world.Millis(1_800_000_060_000), items[3].Result.Wait.ResumeAt)
		require.Equal(t, record.WaitWaiting, items[3].Result.Wait.Status)
		located, err := b.GetStep(b.ctx, "", "step_1", false)
		require.NoError(t, err)
		require.Equal(t, *items[0].Result.Step, located)

		b.clock.Add(time.Second)
		items = b.batch(runID, "r2",
			b.entry(world.EventStepCompleted, "step_2"), b.entry(world.EventStepFailed, "step_1"), b.entry(world.EventWaitCompleted, "wait_1"),
			b.entry(world.EventRunCompleted, ""))
		require.Equal(t, make([]world.Code, 4), storagetest.ItemCodes(items))
		require.Equal(t, raw(t, []byte{2}), items[0].Result.Step.Output)
		require.Equal(t, raw(t, []byte("devlbad")), items[1].Result.Step.Error)
		require.Equal(t, record.WaitCompleted, items[2].Result.Wait.Status)
		require.Equal(t, raw(t, []byte("out")), items[3].Result.Run.Output)
		require.Equal(t, 25_000, items[3].Result.MaxEvents)
		b.check(runID)
	})
}

// A refused event is left out, for the same reason as if it had been sent alone; the others are stored without a gap.
func TestBatchDropsWhatIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		b.send(runID, firstStart, "step_1", sample(b, firstStart))
		b.send(runID, world.EventStepCompleted, "step_1", sample(b, world.EventStepCompleted))
		b.send(runID, firstStart, "step_2", sample(b, firstStart))
		b.send(runID, world.EventWaitCreated, "wait_1", sample(b, world.EventWaitCreated))
		b.send(runID, world.EventStepCreated, "step_3", sample(b, world.EventStepCreated))
		retry := b.entry(world.EventStepRetrying, "step_3")
		retry.Data = append(retry.Data, data(t, "retryAfter", b.clock.Now().Add(5*time.Second).UnixMilli())...)
		b.batch(runID, "r0", retry)
		before := len(b.events(runID))
		events := []world.CreateEvent{
			b.entry(world.EventStepCompleted, "step_1"), // over
			b.entry(world.EventStepCreated, "step_4"),
			b.entry(world.EventStepCreated, "step_2"), // another call's, and so its start is
			b.entry(world.EventStepStarted, "step_2"),
			b.entry(world.EventStepStarted, "step_4"),
			b.entry(world.EventWaitCreated, "wait_1"),
			b.entry(world.EventWaitCompleted, "wait_2"),
			b.entry(world.EventStepStarted, "step_3"), // too early
			b.entry(world.EventStepFailed, "step_9"),
			b.entry(world.EventWaitCreated, "wait_3"),
		}
		want := []world.Code{
			world.CodeConflict, "", world.CodeConflict, world.CodeConflict, "", world.CodeConflict, world.CodeWaitNotFound,
			world.CodeTooEarly, world.CodeStepNotFound, "",
		}
		items := b.batch(runID, "r1", events...)
		require.Equal(t, want, storagetest.ItemCodes(items))
		require.Equal(t, 5, items[7].Err.RetryAfter)
		log := b.events(runID)[before:]
		require.Equal(t, []world.EventType{world.EventStepCreated, world.EventStepStarted, world.EventWaitCreated}, types(log))
		require.Equal(t, before+1, storagetest.SlotOf(log[0].EventID))
		step, err := b.GetStep(b.ctx, runID, "step_2", false)
		require.NoError(t, err)
		require.Equal(t, 1, step.Attempt, "a step is not started by who lost it")
		b.check(runID)

		// The run ends within the batch: the events after the end are refused.
		items = b.batch(runID, "r2", b.entry(world.EventWaitCreated, "wait_4"), b.entry(world.EventRunFailed, ""),
			b.entry(world.EventStepCreated, "step_5"), b.entry(world.EventStepStarted, "step_5"), b.entry(world.EventStepCompleted, "step_2"))
		require.Equal(t, []world.Code{"", "", world.CodeConflict, world.CodeConflict, ""}, storagetest.ItemCodes(items))
		b.check(runID)
		missing := b.batch(b.ids.Prefixed("wrun_"), "r3", b.entry(world.EventStepCreated, x), b.entry(world.EventStepCompleted, "step_2"))
		require.Equal(t, []world.Code{world.CodeRunNotFound, world.CodeStepNotFound}, storagetest.ItemCodes(missing))
	})
}

// An event that a batch may not contain refuses the whole batch.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	b.send(runID, world.EventStepCreated, "step_0", sample(b, world.EventStepCreated))
	before := b.events(runID)
	good := b.entry(world.EventStepCreated, "step_1")
	many := make([]world.CreateEvent, world.MaxBatch+1)
	for i := range many {
		many[i] = b.entry(world.EventStepCreated, fmt.Sprintf("step_%d", i))
	}
	bad := map[string][]world.CreateEvent{
		"empty":                 {},
		"too many":              many,
		"an input on the start": {good, b.entry(firstStart, "step_2")},
		"two of one step":       {b.entry(world.EventStepStarted, "step_0"), b.entry(world.EventStepCompleted, "step_0")},
		"started then created":  {b.entry(world.EventStepStarted, "step_1"), good},
		"created twice":         {good, good},
		"three of one step":     {good, b.entry(world.EventStepStarted, "step_1"), b.entry(world.EventStepStarted, "step_1")},
		"two ends":              {b.entry(world.EventRunCompleted, ""), b.entry(world.EventRunFailed, "")},
		"a bad id":              {good, b.entry(world.EventWaitCreated, "a/b")},
		"no resumeAt":           {good, {Type: world.EventWaitCreated, CorrelationID: "wait_1", SpecVersion: 7}},
	}
	for _, e := range []world.EventType{
		world.EventRunCreated, world.EventRunStarted, world.EventRunCancelled, world.EventAttrSet,
		world.EventHookCreated, world.EventHookReceived, world.EventHookDisposed, world.EventNoop,
	} {
		bad[string(e)] = []world.CreateEvent{good, b.entry(e, storagetest.CorrelationOf(e))}
	}
	for name, events := range bad {
		_, err := b.CreateBatch(b.ctx, world.CreateBatch{RunID: runID, RequestID: name, Events: events})
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err), "%s: %v", name, err)
	}
	require.Equal(t, before, b.events(runID))
}

// A repeated batch gets the first answer, item by item, whatever has happened since.
func TestBatchReplayed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, none := range []bool{false, true} {
			b := newBundle(t, r).on(t, 7)
			runID := b.running()
			b.send(runID, firstStart, "step_1", sample(b, firstStart))
			b.send(runID, firstStart, "step_2", sample(b, firstStart))
			b.send(runID, world.EventWaitCreated, "wait_1", sample(b, world.EventWaitCreated))
			req := world.CreateBatch{RunID: runID, RequestID: "r", ResolveNone: none, Events: []world.CreateEvent{
				b.entry(world.EventStepRetrying, "step_1"), b.entry(world.EventStepCreated, "step_2"), b.entry(world.EventStepCreated, "step_3"),
				b.entry(world.EventStepStarted, "step_3"), b.entry(world.EventWaitCompleted, "wait_1"), b.entry(world.EventWaitCreated, "wait_2"),
				b.entry(world.EventStepStarted, "step_9"), b.entry(world.EventStepFailed, "step_2"), b.entry(world.EventRunFailed, ""),
			}}
			req.Events = append(req.Events[:1], req.Events[2:]...) // step_2 only once
			first, err := b.CreateBatch(b.ctx, req)
			require.NoError(t, err)
			require.Equal(t, []world.Code{"", "", "", "", "", world.CodeStepNotFound, "", ""}, storagetest.ItemCodes(first))
			for _, later := range []world.EventType{"", world.EventStepRetrying, world.EventStepCompleted} {
				if later != "" { // the steps go on after the run
					b.send(runID, later, "step_3", sample(b, later))
				}
				log := b.events(runID)
				b.clock.Add(3 * time.Minute)
				again, err := b.CreateBatch(b.ctx, req)
				require.NoError(t, err)
				require.Equal(t, first, again)
				require.Equal(t, log, b.events(runID))
			}
			b.check(runID)
		}
	})
}

// Redis applied a batch and the answer was lost: the batch is stored once.
func TestBatchLostReply(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	direct := newBundle(t, r)
	p := newProxy(t, r.Addr)
	flaky, err := New(t.Context(), redistest.Client(t, p.Addr()), Config{Prefix: r.Prefix, Clock: direct.clock})
	require.NoError(t, err)
	b, through := direct.on(t, 7), (&bundle{Store: flaky, redis: r, clock: direct.clock}).on(t, 7)
	runID := b.running()
	swallowed := p.swallows.Load()
	p.armed.Store(true)
	items := through.batch(runID, "", b.entry(world.EventStepCreated, x), b.entry(world.EventStepStarted, x))
	require.Equal(t, swallowed+1, p.swallows.Load())
	require.Equal(t, make([]world.Code, 2), storagetest.ItemCodes(items))
	require.Equal(t, 1, items[1].Result.Step.Attempt)
	require.Len(t, b.events(runID), 4)
	b.check(runID)
}

// Two replays of one run send overlapping batches concurrently, on two replicas. Each step is created once, by one of
// them, and the events of each batch are consecutive.
func TestBatchesRace(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0].on(t, 7)
	for range 40 {
		runID := b.running()
		results := make([][]world.BatchItem, 4)
		var calls []func() error
		for n := range results {
			on := all[n%2].on(t, 7)
			var events []world.CreateEvent
			for i := range 8 {
				id := fmt.Sprintf("step_%d", (i+n)%8)
				events = append(events, on.entry(world.EventStepCreated, id), on.entry(world.EventStepStarted, id))
			}
			calls = append(calls, func() (err error) {
				results[n], err = on.CreateBatch(on.ctx, world.CreateBatch{RunID: runID, Events: events})
				return err
			})
		}
		require.Equal(t, map[world.Code]int{"": 4}, codes(together(calls...)))
		won := 0
		for _, items := range results {
			last := 0
			for i, item := range items {
				require.Equal(t, item.Err == nil, items[i^1].Err == nil, "a pair stands or falls together")
				if item.Err != nil {
					require.Equal(t, world.CodeConflict, item.Err.Code)
					continue
				}
				won++
				slot := storagetest.SlotOf(item.Result.Event.EventID)
				require.True(t, last == 0 || slot == last+1, "the events of a batch follow each other")
				last = slot
			}
		}
		require.Equal(t, 16, won)
		require.Len(t, b.events(runID), 18)
		b.check(runID)
	}
}

// A batch that ends a run with zero retention leaves no payload of events before or after the end, and its answer has
// none of an earlier event.
func TestBatchEndsARunThatKeepsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		for _, size := range []int{1, record.SplitAbove} {
			secret := []byte(strings.Repeat("TOP-SECRET", size))
			runID := b.keepsNothing()
			input, result := data(t, "stepName", "add", "input", secret), data(t, "stepName", "add", "result", secret)
			for _, id := range []string{"step_1", "step_2", "step_3"} {
				b.send(runID, world.EventStepCreated, id, input)
			}
			events := []world.CreateEvent{
				b.request("", world.EventStepCompleted, "step_1", result), b.request("", world.EventStepCreated, "step_4", input),
				b.entry(world.EventStepStarted, "step_2"), b.request("", world.EventRunCompleted, "", data(t, "output", secret)),
				b.request("", world.EventStepCompleted, "step_3", result), b.request("", world.EventStepCreated, "step_5", input),
			}
			for range 2 {
				items := b.batch(runID, "r", events...)
				require.Equal(t, []world.Code{"", "", "", "", "", world.CodeConflict}, storagetest.ItemCodes(items))
				for _, i := range []int{0, 2, 4} {
					require.Empty(t, items[i].Result.Step.Input)
				}
				require.Empty(t, items[3].Result.Run.Input)
				require.NotZero(t, items[3].Result.Run.ExpiredAt)
			}
			for _, key := range b.keysLike(b.keys.prefix + "*{" + runID + "}*") {
				if r.Client.Type(b.ctx, key).Val() == "hash" {
					for field, value := range r.Client.HGetAll(b.ctx, key).Val() {
						require.NotContains(t, value, "TOP-SECRET", "%s %s", key, field)
					}
				}
			}
			require.Len(t, b.events(runID), 10)
			b.check(runID)
		}
		b.holdCleanups() // of a large run the payloads are there for a while
		runID := b.large(true, 700, 3, false)
		items := b.batch(runID, "r", b.entry(world.EventRunCompleted, ""), b.entry(world.EventStepCompleted, "step_1"))
		require.NotEmpty(t, b.redis.Client.HGet(b.ctx, b.keys.of(runID).run(), fieldCleanup).Val())
		require.Empty(t, items[1].Result.Step.Input)
	})
}

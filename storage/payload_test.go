package storage

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// BR-38: every payload is returned byte for byte, from the event and from the entity, whether it is stored inside the
// record or beside it.
func TestBR38PayloadsComeBackUnchanged(t *testing.T) {
	t.Parallel()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	long := make([]byte, 100_000)
	_, err := rand.Read(long)
	require.NoError(t, err)
	deep := world.Raw(append(bytes.Repeat([]byte{0x81}, 2000), 0x01)) // an array in an array in …
	payloads := map[string]world.Raw{
		"every byte":         raw(t, every),
		"no bytes":           raw(t, []byte{}),
		"date-like text":     raw(t, "2024-01-01T00:00:00.000Z"),
		"number-like text":   raw(t, "1"),
		"boolean-like text":  raw(t, "true"),
		"base64-like text":   raw(t, "AAECAw=="),
		"emoji":              raw(t, "🧪🏳️‍🌈"),
		"lone surrogate":     {0x63, 0xed, 0xa0, 0x80},
		"2^53+1 as text":     raw(t, "9007199254740993"),
		"2^53+1":             raw(t, uint64(9007199254740993)),
		"tagged by the user": raw(t, map[string]string{"__type": "Uint8Array", "data": "AA=="}),
		"null":               {0xf6},
		"undefined":          {0xf7},
		"zero":               {0x00},
		"tagged bytes":       {0xd8, 0x40, 0x43, 1, 2, 3},
		"newlines and NULs":  raw(t, "\x00\n\r\n:a7:"),
		"split":              raw(t, long),
		"at the limit":       raw(t, long[:record.SplitAbove-3]),
		"above the limit":    raw(t, long[:record.SplitAbove-2]),
		"deep":               deep,
	}
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		shared := newBundle(t, r)
		for name, payload := range payloads {
			t.Run(name, func(t *testing.T) {
				b := &bundle{Store: shared.Store, t: t, ctx: t.Context(), redis: r, clock: shared.clock}
				run := b.send("", world.EventRunCreated, "", data(t,
					"deploymentId", "d", "workflowName", "w", "input", payload, "executionContext", map[string]any{"a": 1})).Run
				require.Equal(t, payload, run.Input)
				started := b.send(run.RunID, world.EventRunStarted, "", nil)
				require.Equal(t, payload, started.Run.Input)
				require.Equal(t, payload, started.Events[0].Data.Get("input"))
				require.Equal(t, []string{"deploymentId", "workflowName", "input", "executionContext"}, keysOf(started.Events[0].Data))
				b.send(run.RunID, world.EventStepCreated, x, data(t, "stepName", "s", "input", payload))
				require.Equal(t, payload, b.send(run.RunID, world.EventStepStarted, x, nil).Step.Input)
				b.send(run.RunID, world.EventStepCompleted, x, data(t, "result", payload))
				step, err := b.GetStep(b.ctx, run.RunID, x, false)
				require.NoError(t, err)
				require.Equal(t, payload, step.Input)
				require.Equal(t, payload, step.Output)
				hook := b.send(run.RunID, world.EventHookCreated, "hook_1", data(t, "token", name+r.Prefix, "metadata", payload)).Hook
				require.Equal(t, payload, hook.Metadata)
				got, err := b.GetHookByToken(b.ctx, name+r.Prefix, false)
				require.NoError(t, err)
				got.Resume = nil
				require.Equal(t, *hook, got)
				b.send(run.RunID, world.EventHookReceived, "hook_1", data(t, "payload", payload, "note", payload))
				b.send(run.RunID, world.EventRunCompleted, "", data(t, "output", payload))
				whole, err := b.GetRun(b.ctx, run.RunID, false)
				require.NoError(t, err)
				require.Equal(t, payload, whole.Output)
				require.Equal(t, payload, whole.Input)
				log := b.events(run.RunID)
				require.Equal(t, payload, log[6].Data.Get("payload"))
				require.Equal(t, payload, log[6].Data.Get("note"))
				for _, e := range log {
					one, err := b.GetEvent(b.ctx, run.RunID, e.EventID, false)
					require.NoError(t, err)
					require.Equal(t, e, one)
				}
				b.resolvesNone(run.RunID, log)
			})
		}
	})
}

// resolvesNone checks that resolveData 'none' leaves out the payloads and nothing else.
func (b *bundle) resolvesNone(runID string, log []world.Event) {
	b.t.Helper()
	want := make([]world.Event, len(log))
	for i, e := range log {
		want[i] = withoutPayload(e)
	}
	page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, ResolveNone: true})
	require.NoError(b.t, err)
	require.Equal(b.t, want, page.Data)
	whole, err := b.GetRun(b.ctx, runID, false)
	require.NoError(b.t, err)
	whole.Input, whole.Output = nil, nil
	got, err := b.GetRun(b.ctx, runID, true)
	require.NoError(b.t, err)
	require.Equal(b.t, whole, got)
	step, err := b.GetStep(b.ctx, runID, x, false)
	require.NoError(b.t, err)
	step.Input, step.Output = nil, nil
	gotStep, err := b.GetStep(b.ctx, runID, x, true)
	require.NoError(b.t, err)
	require.Equal(b.t, step, gotStep)
}

func keysOf(f world.Fields) []string {
	out := make([]string, len(f))
	for i, e := range f {
		out[i] = e.Key
	}
	return out
}

// resolveData 'none' on a call filters its answer: no payload in the event or in the entity.
func TestResolveNoneOnCreate(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	create := func(runID string, e world.EventType, id string) world.EventResult {
		result, err := b.CreateEvent(b.ctx, world.CreateEvent{
			RunID: runID, Type: e, CorrelationID: id, Data: sample(b, e), SpecVersion: 3, ResolveNone: true,
		})
		require.NoError(t, err)
		return result
	}
	created := create("", world.EventRunCreated, "")
	require.Nil(t, created.Run.Input)
	require.Equal(t, []string{"deploymentId", "workflowName", "executionContext"}, keysOf(created.Event.Data))
	runID := created.Run.RunID
	require.Nil(t, create(runID, world.EventRunStarted, "").Run.Input)
	require.Nil(t, create(runID, world.EventStepCreated, x).Step.Input)
	done := create(runID, world.EventStepCompleted, x)
	require.Nil(t, done.Step.Input)
	require.Nil(t, done.Step.Output)
	require.Equal(t, []string{"stepName"}, keysOf(done.Event.Data))
	require.Nil(t, create(runID, world.EventHookCreated, "hook_1").Hook.Metadata)
	require.Nil(t, create(runID, world.EventHookReceived, "hook_1").Event.Data)
	end := create(runID, world.EventRunCompleted, "")
	require.Nil(t, end.Run.Output)
	require.Nil(t, end.Event.Data)
	run, err := b.GetRun(b.ctx, runID, false)
	require.NoError(t, err)
	require.Equal(t, raw(t, []byte("out")), run.Output)
}

// BR-38: absent stays absent, empty stays empty, and every field of an event is returned.
func TestBR38EventFields(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "t"))
	result, err := b.CreateEvent(b.ctx, world.CreateEvent{
		RunID: runID, Type: world.EventHookReceived, CorrelationID: "hook_1", SpecVersion: 5,
		OccurredAt: 1_700_000_000_123, ResumeID: "resume_1", Data: data(t, "token", "t", "payload", []byte{}, "z", nil),
	})
	require.NoError(t, err)
	log := b.events(runID)
	require.Equal(t, *result.Event, log[3])
	require.Equal(t, world.Event{
		EventID: log[3].EventID, RunID: runID, Type: world.EventHookReceived, CorrelationID: "hook_1", SpecVersion: 5,
		CreatedAt: b.now(), OccurredAt: 1_700_000_000_123, ResumeID: "resume_1",
		Data: data(t, "token", "t", "payload", []byte{}, "z", nil),
	}, log[3])
	b.send(runID, world.EventRunCompleted, "", world.Fields{})
	log = b.events(runID)
	require.NotNil(t, log[4].Data, "an empty eventData is not an absent one")
	require.Empty(t, log[4].Data)
	require.Nil(t, log[1].Data)
	run, err := b.GetRun(b.ctx, runID, false)
	require.NoError(t, err)
	require.Nil(t, run.Output)
}

// A key of eventData may be any text.
func TestKeysOfEventData(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	f := world.Fields{}
	for _, key := range []string{"", "\x00", "\x01", " ", "a", "inputs", "🧪", "\xff"} {
		f = append(f, world.Field{Key: key, Value: raw(t, key+"!")})
	}
	f = append(f, world.Field{Key: "resumeAt", Value: raw(t, 5)})
	b.send(runID, world.EventStepCreated, x, append(data(t, "stepName", "s"), f...))
	require.Equal(t, append(data(t, "stepName", "s"), f...), b.events(runID)[2].Data)
}

// Errors of spec 3 and older become {message, stack?, code?}, whatever their form was; errors of newer clients keep
// their bytes, with resolveData 'none' too.
func TestErrorShapes(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	opaque := raw(t, bytes.Repeat([]byte("devl"), 2000))
	for name, c := range map[string]struct {
		sent      any
		run, step map[string]string
	}{
		"text":          {"boom", map[string]string{"message": "boom", "code": "C"}, map[string]string{"message": "boom", "stack": "S"}},
		"object":        {map[string]any{"message": "m", "stack": "s"}, map[string]string{"message": "m", "stack": "s", "code": "C"}, map[string]string{"message": "m", "stack": "S"}},
		"without words": {map[string]any{"x": 1}, map[string]string{"message": "Unknown error", "code": "C"}, map[string]string{"message": "Unknown error", "stack": "S"}},
		"null":          {nil, map[string]string{"message": "Unknown error", "code": "C"}, map[string]string{"message": "Unknown error", "stack": "S"}},
	} {
		runID := b.running()
		b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
		failed := b.send(runID, world.EventStepFailed, x, data(t, "error", c.sent, "stack", "S")).Step
		run := b.send(runID, world.EventRunFailed, "", data(t, "error", c.sent, "errorCode", "C")).Run
		require.Equal(t, "C", run.ErrorCode)
		for _, got := range []struct {
			raw  world.Raw
			want map[string]string
		}{{run.Error, c.run}, {failed.Error, c.step}} {
			var e map[string]string
			require.NoError(t, cbor.Unmarshal(got.raw, &e))
			require.Equal(t, got.want, e, name)
		}
	}
	for _, sent := range []world.Raw{opaque, append(world.Raw{0xd8, 0x40}, opaque...)} {
		runID := b.running()
		b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
		require.Equal(t, sent, b.send(runID, world.EventStepRetrying, x, data(t, "error", sent)).Step.Error)
		b.send(runID, world.EventRunFailed, "", data(t, "error", sent, "errorCode", "C"))
		run, err := b.GetRun(b.ctx, runID, true)
		require.NoError(t, err)
		require.Equal(t, sent, run.Error)
		step, err := b.GetStep(b.ctx, runID, x, true)
		require.NoError(t, err)
		require.Equal(t, sent, step.Error)
	}
}

// BR-37: a page of big events ends before 8 MiB and says that there is more; a log that is too big is not part of the
// answer of run_started.
func TestBR37PagesEndBySize(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	b.send(runID, world.EventHookCreated, x, sample(b, world.EventHookCreated))
	big := raw(t, make([]byte, 1<<20))
	for range 10 {
		b.send(runID, world.EventHookReceived, x, data(t, "payload", big))
	}
	huge := raw(t, make([]byte, 9<<20))
	b.send(runID, world.EventHookReceived, x, data(t, "payload", huge))
	var counts []int
	for cursor, more := "", true; more; {
		page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: cursor}})
		require.NoError(t, err)
		counts = append(counts, len(page.Data))
		cursor, more = page.Cursor, page.HasMore
	}
	require.Equal(t, []int{10, 3, 1}, counts, "seven big ones, three more, the one that is above the limit alone")
	page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: x})
	require.NoError(t, err)
	require.Len(t, page.Data, 8)
	require.True(t, page.HasMore)
	page, err = b.ListEvents(b.ctx, world.EventQuery{RunID: runID, ResolveNone: true})
	require.NoError(t, err)
	require.Len(t, page.Data, 14)

	again := b.send(runID, world.EventRunStarted, "", nil)
	require.Nil(t, again.Events)
	require.Empty(t, again.Cursor)
	require.Equal(t, world.RunRunning, again.Run.Status)
}

// A hook token is free text: any length and any characters work.
func TestTokensAreFreeText(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.running()
		for i, token := range []string{"a/b", "a b", "{wrun_1}", "*", "🪝", strings.Repeat("long", 1024), "..", "\x00"} {
			id := "hook_" + string(rune('a'+i))
			b.send(runID, world.EventHookCreated, id, data(t, "token", token))
			hook, err := b.GetHookByToken(b.ctx, token, false)
			require.NoError(t, err)
			require.Equal(t, token, hook.Token)
			require.Equal(t, id, hook.HookID)
		}
		_, err := b.try(runID, world.EventHookCreated, "hook_z", data(t, "token", strings.Repeat("x", 4097)))
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		b.clock.Add(time.Second)
		b.check(runID)
	})
}

// A payload is stored once, and a big one outside its record, so that reads without payloads do not touch it; an error
// stays in its record, because lists show it.
func TestBigPayloadsStandApart(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	big := raw(t, make([]byte, 10_000))
	run := b.send("", world.EventRunCreated, "", data(t, "deploymentId", "d", "workflowName", "w", "input", big)).Run
	b.send(run.RunID, world.EventStepCreated, x, data(t, "stepName", "s", "input", raw(t, []byte("small"))))
	b.send(run.RunID, world.EventStepFailed, x, data(t, "error", big))
	keys := b.keys.of(run.RunID)
	fields, err := b.redis.Client.HGetAll(b.ctx, keys.events()).Result()
	require.NoError(t, err)
	require.Len(t, fields, 4)
	require.Equal(t, string(big), fields["0/p"])
	require.Less(t, len(fields["0"]), 100)
	require.Greater(t, len(fields["2"]), 10_000)
	all, err := b.redis.Client.Keys(b.ctx, b.keys.prefix+"*").Result()
	require.NoError(t, err)
	for _, key := range all {
		if key != keys.events() {
			size, err := b.redis.Client.MemoryUsage(b.ctx, key, 0).Result()
			require.NoError(t, err)
			require.Less(t, size, int64(1000), "%s holds a payload", key)
		}
	}
}

package archived_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/postgres"
	"github.com/world-redis/world-redis/internal/archived"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/pgtest"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage"
	"github.com/world-redis/world-redis/streaming"
)

// testWorld is a store and streams on a real Redis, with an archive in a real PostgreSQL.
type testWorld struct {
	t       *testing.T
	redis   *storage.Store
	live    *streaming.Service
	archive world.Archive
	store   *archived.Store
	streams *archived.Streams
	minter  *ids.Minter
}

// runEnds lets the streams, which are made first, ask the store.
type runEnds struct{ store *storage.Store }

func (r *runEnds) RunEnds(ctx context.Context, runIDs []string) ([]world.RunEnd, error) {
	return r.store.RunEnds(ctx, runIDs)
}

func (r *runEnds) FindSteps(ctx context.Context, refs []world.StepRef) ([]world.StepPresence, error) {
	return r.store.FindSteps(ctx, refs)
}

func newWorld(t *testing.T) *testWorld {
	t.Helper()
	archive, err := postgres.Open(t.Context(), pgtest.New(t), postgres.Options{Namespace: "wf:"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, archive.Close()) })
	return worldWith(t, archive)
}

func worldWith(t *testing.T, archive world.Archive) *testWorld {
	t.Helper()
	r := redistest.New(t)
	ends := &runEnds{}
	live, err := streaming.New(t.Context(), r.Client, streaming.Config{Prefix: r.Prefix, Runs: ends, Steps: ends, Quiet: time.Millisecond, AuditInterval: 5 * time.Millisecond})
	require.NoError(t, err)
	running, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- live.Run(running) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-stopped) })
	store, err := storage.New(t.Context(), r.Client, storage.Config{
		Prefix: r.Prefix, PurgeStreams: live.PurgeRun, ExpectPurge: live.ExpectPurge, RemoveStreams: live.RemoveRuns,
		RemoveMessages: func(context.Context, []string) error { return nil },
	})
	require.NoError(t, err)
	ends.store = store
	return &testWorld{
		t: t, redis: store, live: live, archive: archive, minter: ids.NewMinter(world.SystemClock{}),
		store:   &archived.Store{Store: store, Archive: archive, Logger: slog.New(slog.DiscardHandler), MaxEvents: store.MaxEvents()},
		streams: &archived.Streams{StreamStore: live, Runs: store, Archive: archive},
	}
}

// newID mints a run id that is so old that the run must exist.
func (w *testWorld) newID() string {
	return "wrun_" + w.minter.At(time.Now().Add(-5*time.Minute)).String()
}

func encode(t testing.TB, value any) world.Raw {
	raw, err := cbor.Marshal(value)
	require.NoError(t, err)
	return raw
}

func fields(t testing.TB, data map[string]any) world.Fields {
	var out world.Fields
	for key, value := range data {
		out = append(out, world.Field{Key: key, Value: encode(t, value)})
	}
	slices.SortFunc(out, func(a, b world.Field) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return out
}

func (w *testWorld) request(spec int, runID string, kind world.EventType, correlation string, data map[string]any) world.CreateEvent {
	return world.CreateEvent{RunID: runID, Type: kind, CorrelationID: correlation, SpecVersion: spec, Data: fields(w.t, data)}
}

func (w *testWorld) event(spec int, runID string, kind world.EventType, correlation string, data map[string]any) {
	w.t.Helper()
	_, err := w.store.CreateEvent(w.t.Context(), w.request(spec, runID, kind, correlation, data))
	require.NoError(w.t, err)
}

// run makes a run with something of every kind, which has not ended.
func (w *testWorld) run(spec int) (runID string) {
	w.t.Helper()
	runID = w.newID()
	id := func(kind string) string { return kind + runID[5:] }
	w.event(spec, runID, world.EventRunCreated, "", map[string]any{"deploymentId": "d", "workflowName": "wf", "input": []byte("input")})
	w.event(spec, runID, world.EventRunStarted, "", nil)
	for i := range 5 {
		step := fmt.Sprintf("%s-%d", id("step_"), i)
		w.event(spec, runID, world.EventStepCreated, step, map[string]any{"stepName": "s", "input": []byte{byte(i)}})
		if i > 0 {
			w.event(spec, runID, world.EventStepStarted, step, nil)
		}
		switch i {
		case 2:
			w.event(spec, runID, world.EventStepRetrying, step, map[string]any{"error": "again"})
			w.event(spec, runID, world.EventStepStarted, step, nil)
			w.event(spec, runID, world.EventStepCompleted, step, map[string]any{"result": []byte("result")})
		case 3:
			w.event(spec, runID, world.EventStepFailed, step, map[string]any{"error": map[string]any{"message": "failed"}})
		}
	}
	w.event(spec, runID, world.EventWaitCreated, id("wait_"), map[string]any{"resumeAt": 1_800_000_000_000})
	w.event(spec, runID, world.EventWaitCompleted, id("wait_"), nil)
	w.event(spec, runID, world.EventWaitCreated, id("wait_")+"-open", map[string]any{"resumeAt": 1_800_000_000_000})
	w.event(spec, runID, world.EventHookCreated, id("hook_"), map[string]any{"token": "token " + runID, "metadata": []byte("m")})
	w.event(spec, runID, world.EventHookReceived, id("hook_"), map[string]any{"payload": []byte("p"), "token": "token " + runID})
	w.write(runID, streamOf(runID, 0), "a", "", "ccc")
	w.write(runID, streamOf(runID, 1), "open")
	w.write(runID, "own name "+runID, "x", "y")
	require.NoError(w.t, w.streams.CloseStream(w.t.Context(), world.StreamClose{Name: streamOf(runID, 0), RunID: runID}))
	for attempt := range int64(2) { // the step runs again after it has closed its stream
		by := []world.StreamStep{{ID: id("step_") + "-1", Attempt: attempt + 1}}
		_, err := w.streams.AppendChunks(w.t.Context(), world.Append{Name: streamOf(runID, 3), RunID: runID, Steps: by, Chunks: [][]byte{{'i'}, {'j'}}})
		require.NoError(w.t, err)
		require.NoError(w.t, w.streams.CloseStream(w.t.Context(), world.StreamClose{Name: streamOf(runID, 3), RunID: runID, Steps: by}))
	}
	return runID
}

// legacy makes a run of the calls from before event sourcing, and ends it.
func (w *testWorld) legacy(end world.RunStatus) (runID string) {
	w.t.Helper()
	ctx := w.t.Context()
	run, err := w.store.CreateLegacyRun(ctx, world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "wf", Input: encode(w.t, []int{1})})
	require.NoError(w.t, err)
	runID = run.RunID
	_, err = w.store.UpdateLegacyRun(ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunRunning})
	require.NoError(w.t, err)
	for i := range 3 {
		stepID := fmt.Sprintf("step_%s-%d", runID[5:], i)
		_, err = w.store.CreateLegacyStep(ctx, world.CreateLegacyStep{RunID: runID, StepID: stepID, StepName: "s", Input: encode(w.t, i)})
		require.NoError(w.t, err)
		_, err = w.store.CreateLegacyEvent(ctx, world.CreateLegacyEvent{RunID: runID, Type: world.EventStepStarted, CorrelationID: stepID})
		require.NoError(w.t, err)
		_, err = w.store.UpdateLegacyStep(ctx, world.UpdateLegacyStep{RunID: runID, StepID: stepID, Status: world.StepCompleted, Output: encode(w.t, "o")})
		require.NoError(w.t, err)
	}
	_, err = w.store.UpdateLegacyRun(ctx, world.UpdateLegacyRun{RunID: runID, Status: end, Output: encode(w.t, "output")})
	require.NoError(w.t, err)
	return runID
}

func streamOf(runID string, number int) string {
	return fmt.Sprintf("strm_%s_user_%d", runID[5:], number)
}

func (w *testWorld) write(runID, name string, chunks ...string) {
	w.t.Helper()
	data := make([][]byte, len(chunks))
	for i, c := range chunks {
		data[i] = []byte(c)
	}
	_, err := w.streams.AppendChunks(w.t.Context(), world.Append{Name: name, RunID: runID, Chunks: data})
	require.NoError(w.t, err)
}

// ended makes a run and ends it.
func (w *testWorld) ended(spec int, end world.EventType) (runID string) {
	w.t.Helper()
	runID = w.run(spec)
	w.event(spec, runID, end, "", map[world.EventType]map[string]any{
		world.EventRunCompleted: {"output": []byte("output")}, world.EventRunFailed: {"error": map[string]any{"message": "m", "code": "c"}},
	}[end])
	return runID
}

// move copies a run to the archive and then removes it from Redis.
func (w *testWorld) move(runID string) {
	w.t.Helper()
	require.NoError(w.t, w.archive.PutRuns(w.t.Context(), []*world.RunCopy{w.copy(runID)}))
	require.NoError(w.t, w.redis.RemoveRun(w.t.Context(), runID))
}

// copy copies a run with its streams.
func (w *testWorld) copy(runID string) *world.RunCopy {
	w.t.Helper()
	copies, err := w.redis.CopyRuns(w.t.Context(), []string{runID})
	require.NoError(w.t, err)
	streams, err := w.live.CopyStreams(w.t.Context(), []string{runID})
	require.NoError(w.t, err)
	c := *copies[0]
	entities := c.Parts
	c.Parts = func(yield func(world.RunPart, error) bool) {
		for p, err := range entities {
			if !yield(p, err) {
				return
			}
		}
		if streams[0] != nil {
			streams[0](yield)
		}
	}
	return &c
}

// answers are what the calls that read a run return, by a description of the call.
type answers map[string]any

func (a answers) add(what string, values ...any) {
	for i, v := range values {
		if err, isErr := v.(error); isErr {
			values[i] = fmt.Sprint(world.ErrorCode(err), " ", err)
		}
	}
	a[what] = values
}

// pages reads a list page by page and returns all pages, cursors included.
func pages[T any](t *testing.T, limit int, order world.Order, read func(world.PageRequest) (world.Page[T], error)) []any {
	t.Helper()
	var out []any
	request := world.PageRequest{Limit: limit, Order: order}
	for {
		page, err := read(request)
		out = append(out, page, fmt.Sprint(err))
		if !page.HasMore {
			if page.Cursor != "" { // what comes after the last item
				request.Cursor = page.Cursor
				page, err = read(request)
				out = append(out, page, fmt.Sprint(err))
			}
			return out
		}
		require.NotEqual(t, request.Cursor, page.Cursor)
		request.Cursor = page.Cursor
	}
}

// read makes every call that reads a run.
func (w *testWorld) read(runID string) answers {
	w.t.Helper()
	ctx, t, out := w.t.Context(), w.t, answers{}
	for _, none := range []bool{false, true} {
		run, err := w.store.GetRun(ctx, runID, none)
		out.add(fmt.Sprint("GetRun ", none), run, err)
		many, err := w.store.GetRuns(ctx, []string{"wrun_none", runID}, none)
		out.add(fmt.Sprint("GetRuns ", none), many, err)
		run, err = w.store.AwaitRun(ctx, runID, time.Minute, none)
		out.add(fmt.Sprint("AwaitRun ", none), run, err)
		w.readLists(out, runID, none)
	}
	if run, err := w.store.GetRun(ctx, runID, true); err == nil && run.SpecVersion <= 1 { // they had no streams
		return out
	}
	for _, limit := range []int{1, 2, 0} {
		out.add(fmt.Sprint("ListStreams ", limit), pages(t, limit, "", func(p world.PageRequest) (world.Page[string], error) { return w.streams.ListStreams(ctx, runID, p) })...)
	}
	for _, name := range []string{streamOf(runID, 0), streamOf(runID, 1), streamOf(runID, 2), streamOf(runID, 3), "own name " + runID} {
		w.readStream(out, name)
	}
	return out
}

func (w *testWorld) readLists(out answers, runID string, none bool) {
	ctx, t := w.t.Context(), w.t
	all, err := w.store.ListEvents(ctx, world.EventQuery{RunID: runID})
	require.NoError(t, err)
	require.NotEmpty(t, all.Data)
	correlations := map[string]bool{"": true, "step_none": true}
	for _, e := range all.Data {
		correlations[e.CorrelationID] = true
		event, err := w.store.GetEvent(ctx, runID, e.EventID, none)
		out.add(fmt.Sprint("GetEvent ", e.EventID, none), event, err)
	}
	_, err = w.store.GetEvent(ctx, runID, "evnt_00000000000000000000009999", none)
	out.add("GetEvent of none", err)
	orders, limits := []world.Order{"", world.Ascending, world.Descending}, []int{1, 3, 0}
	if none {
		orders, limits = orders[2:], limits[1:2]
	}
	for _, order := range orders {
		for _, limit := range limits {
			for id := range correlations {
				what := fmt.Sprint(id, " ", order, limit, none)
				out.add("ListEvents "+what, pages(t, limit, order, func(p world.PageRequest) (world.Page[world.Event], error) {
					return w.store.ListEvents(ctx, world.EventQuery{RunID: runID, CorrelationID: id, Page: p, ResolveNone: none})
				})...)
			}
			out.add(fmt.Sprint("ListSteps ", order, limit, none), pages(t, limit, order, func(p world.PageRequest) (world.Page[world.Step], error) {
				return w.store.ListSteps(ctx, world.StepQuery{RunID: runID, Page: p, ResolveNone: none})
			})...)
			out.add(fmt.Sprint("ListRuns ", order, limit, none), pages(t, limit, order, func(p world.PageRequest) (world.Page[world.Run], error) {
				return w.store.ListRuns(ctx, world.RunQuery{WorkflowName: "wf", Page: p, ResolveNone: none})
			})...)
			out.add(fmt.Sprint("ListHooks ", order, limit, none), pages(t, limit, order, func(p world.PageRequest) (world.Page[world.Hook], error) {
				return w.store.ListHooks(ctx, world.HookQuery{RunID: runID, Page: p, ResolveNone: none})
			})...)
		}
	}
	for id := range correlations {
		if id == "" {
			continue
		}
		for _, of := range []string{"", runID} {
			step, err := w.store.GetStep(ctx, of, id, none)
			out.add(fmt.Sprint("GetStep ", of, " ", id, none), step, err)
		}
		related, err := w.store.ListEvents(ctx, world.EventQuery{CorrelationID: id, ResolveNone: none})
		out.add(fmt.Sprint("ListEvents of ", id, none), related, err)
	}
}

func (w *testWorld) readStream(out answers, name string) {
	ctx := w.t.Context()
	for _, from := range []int64{0, 1, 2, 3, 9} {
		info, err := w.streams.StreamInfo(ctx, name, from)
		out.add(fmt.Sprint("StreamInfo ", name, from), info, err)
		page, err := w.streams.ListChunks(ctx, name, world.PageRequest{Cursor: strconv.FormatInt(from, 10), Limit: 2})
		if len(page.Data) == 0 {
			page.Data = nil
		}
		out.add(fmt.Sprint("ListChunks ", name, from), page, err)
	}
	for _, from := range []int64{0, 1, 2, 3, 9, -1, -2, -99} {
		var got []world.Chunk
		err := w.streams.ReadStream(ctx, name, from, func(chunks []world.Chunk) error {
			for _, c := range chunks {
				got = append(got, world.Chunk{Index: c.Index, Data: append([]byte{}, c.Data...)})
			}
			return nil
		})
		out.add(fmt.Sprint("ReadStream ", name, from), got, err)
	}
}

package storage

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// sixEvents is a one-step run: six events with four payloads of 300 bytes, which is also measured with other Worlds.
type sixEvents struct{ created, step, result, output world.Fields }

func newSixEvents(tb testing.TB) sixEvents {
	payload := make([]byte, 300)
	return sixEvents{
		created: data(tb, "deploymentId", "dpl_1", "workflowName", "workflow//./src/workflows/addition//addition", "input", payload,
			"executionContext", map[string]any{"workflowCoreVersion": "4.8.9", "traceCarrier": map[string]string{}, "features": map[string]bool{"encryption": false}}),
		step:   data(tb, "stepName", "step//./src/workflows/addition//add", "workflowName", "workflow//./src/workflows/addition//addition", "input", payload),
		result: data(tb, "stepName", "step//./src/workflows/addition//add", "workflowName", "workflow//./src/workflows/addition//addition", "result", payload),
		output: data(tb, "output", payload),
	}
}

// write makes the six calls and reports how long each took.
func (e sixEvents) write(ctx context.Context, s *Store, took func(time.Duration)) (runID string, err error) {
	stepID := s.ids.Prefixed("step_")
	for _, req := range []world.CreateEvent{
		{Type: world.EventRunCreated, Data: e.created},
		{Type: world.EventRunStarted},
		{Type: world.EventStepCreated, CorrelationID: stepID, Data: e.step},
		{Type: world.EventStepStarted, CorrelationID: stepID},
		{Type: world.EventStepCompleted, CorrelationID: stepID, Data: e.result},
		{Type: world.EventRunCompleted, Data: e.output},
	} {
		req.RunID, req.SpecVersion = runID, 3
		start := time.Now()
		result, err := s.CreateEvent(ctx, req)
		if err != nil {
			return "", err
		}
		took(time.Since(start))
		if result.Run != nil {
			runID = result.Run.RunID
		}
	}
	return runID, nil
}

// BenchmarkSixEvents reports the median of one call, with one caller.
func BenchmarkSixEvents(b *testing.B) {
	s, err := New(b.Context(), redistest.New(b).Client, Config{Prefix: "bench1:"})
	require.NoError(b, err)
	events := newSixEvents(b)
	var all []time.Duration
	for b.Loop() {
		_, err := events.write(b.Context(), s, func(d time.Duration) { all = append(all, d) })
		require.NoError(b, err)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs/call")
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkSixEvents64 reports events a second with 64 callers.
func BenchmarkSixEvents64(b *testing.B) {
	s, err := New(b.Context(), redistest.New(b).Client, Config{Prefix: "bench64:"})
	require.NoError(b, err)
	events := newSixEvents(b)
	var count atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS, 2 on the reference machine
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := events.write(b.Context(), s, func(time.Duration) { count.Add(1) })
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(count.Load())/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkNoopStart reports the median of the run_started with which every wake-up begins, for a log of 100 events,
// which the answer contains.
func BenchmarkNoopStart(b *testing.B) {
	x := newBundle(b, redistest.New(b))
	runID := x.running()
	x.send(runID, world.EventHookCreated, "hook_1", data(b, "token", "bench"))
	for range 97 {
		x.send(runID, world.EventHookReceived, "hook_1", data(b, "payload", make([]byte, 300)))
	}
	for b.Loop() {
		require.Len(b, x.send(runID, world.EventRunStarted, "", nil).Events, 100)
	}
}

// BenchmarkMemory reports the memory of a six-event run in Redis: all its keys, and its share of the lists when there
// are many runs.
func BenchmarkMemory(b *testing.B) {
	r := redistest.New(b)
	s, err := New(b.Context(), r.Client, Config{Prefix: "workflow:"})
	require.NoError(b, err)
	events := newSixEvents(b)
	runID, err := events.write(b.Context(), s, func(time.Duration) {})
	require.NoError(b, err)
	keys, err := r.Client.Keys(b.Context(), "workflow:*").Result()
	require.NoError(b, err)
	var all, own int64
	for _, key := range keys {
		n, err := r.Client.MemoryUsage(b.Context(), key, 0).Result()
		require.NoError(b, err)
		all += n
		if strings.Contains(key, "{"+runID+"}") {
			own += n
		}
		b.Logf("%6d %s", n, key)
	}
	b.ReportMetric(float64(all), "B/first-run")
	b.ReportMetric(float64(own), "B/own-keys")
}

// BenchmarkLists reports the time of a page of each list of small entries, with one caller.
func BenchmarkLists(b *testing.B) {
	x := newBundle(b, redistest.New(b))
	events := newSixEvents(b)
	var runIDs []string
	for range 200 {
		runID, err := events.write(b.Context(), x.Store, func(time.Duration) {})
		require.NoError(b, err)
		runIDs = append(runIDs, runID)
	}
	runID := x.running()
	x.send(runID, world.EventHookCreated, "hook_1", data(b, "token", "bench"))
	for i := range 500 {
		if i < 100 {
			id := x.ids.Prefixed("step_")
			x.send(runID, world.EventStepCreated, id, events.step)
			x.send(runID, world.EventStepStarted, id, nil)
			x.send(runID, world.EventStepCompleted, id, events.result)
		}
		x.send(runID, world.EventHookReceived, "hook_1", data(b, "payload", make([]byte, 300)))
	}
	page := func(limit int) world.PageRequest { return world.PageRequest{Limit: limit} }
	for name, list := range map[string]func() (int, error){
		"runs20": func() (int, error) { p, err := x.ListRuns(b.Context(), world.RunQuery{}); return len(p.Data), err },
		"runs100": func() (int, error) {
			p, err := x.ListRuns(b.Context(), world.RunQuery{Page: page(100)})
			return len(p.Data), err
		},
		"getRuns200": func() (int, error) {
			runs, err := x.GetRuns(b.Context(), runIDs, false)
			return len(runs), err
		},
		"getRun": func() (int, error) { _, err := x.GetRun(b.Context(), runIDs[0], false); return 1, err },
		"steps20": func() (int, error) {
			p, err := x.ListSteps(b.Context(), world.StepQuery{RunID: runID})
			return len(p.Data), err
		},
		"events20": func() (int, error) {
			p, err := x.ListEvents(b.Context(), world.EventQuery{RunID: runID, Page: page(20)})
			return len(p.Data), err
		},
		"events800": func() (int, error) {
			p, err := x.ListEvents(b.Context(), world.EventQuery{RunID: runID})
			return len(p.Data), err
		},
		"related100": func() (int, error) {
			p, err := x.ListEvents(b.Context(), world.EventQuery{RunID: runID, CorrelationID: "hook_1"})
			return len(p.Data), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n, err := list()
				require.NoError(b, err)
				require.NotZero(b, n)
			}
		})
	}
}

package storage

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// replicas returns n stores on one Redis, each with its own ids and connections.
func replicas(t *testing.T, n int) []*bundle {
	t.Helper()
	r := redistest.New(t)
	first := newBundle(t, r)
	out, stores := []*bundle{first}, []*Store{first.Store}
	for range n - 1 {
		store, err := New(t.Context(), redistest.Client(t, r.Addr), Config{Prefix: r.Prefix, Clock: first.clock})
		require.NoError(t, err)
		out = append(out, &bundle{Store: store, t: t, ctx: t.Context(), redis: r, clock: first.clock})
		stores = append(stores, store)
	}
	for _, b := range out {
		b.others = stores
	}
	return out
}

// together runs the calls concurrently and returns their errors.
func together(calls ...func() error) []error {
	errs := make([]error, len(calls))
	var gate, done sync.WaitGroup
	gate.Add(1)
	for i, call := range calls {
		done.Go(func() {
			gate.Wait()
			errs[i] = call()
		})
	}
	gate.Done()
	done.Wait()
	return errs
}

func (b *bundle) call(runID string, e world.EventType, correlationID string) func() error {
	event := sample(b, e)
	return func() error {
		_, err := b.try(runID, e, correlationID, event)
		return err
	}
}

func codes(errs []error) map[world.Code]int {
	out := map[world.Code]int{}
	for _, err := range errs {
		out[world.ErrorCode(err)]++
	}
	return out
}

// BR-01: two replays of one run create the same entity concurrently, on two replicas. One succeeds, the other gets a
// conflict, and so does a later redelivery.
func TestBR01RacingCreates(t *testing.T) {
	t.Parallel()
	for _, kind := range []world.EventType{world.EventStepCreated, world.EventWaitCreated, world.EventHookCreated} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			all := replicas(t, 2)
			b := all[0]
			const rounds = 500
			runID := b.running()
			for i := range rounds {
				id := fmt.Sprintf("x_%d", i)
				event := sample(b, kind)
				if kind == world.EventHookCreated {
					event = data(t, "token", "t "+id)
				}
				create := func(on *bundle) func() error {
					return func() error { _, err := on.try(runID, kind, id, event); return err }
				}
				got := codes(together(create(all[0]), create(all[1])))
				require.Equal(t, map[world.Code]int{"": 1, world.CodeConflict: 1}, got)
				if i%50 == 0 {
					require.Equal(t, world.CodeConflict, world.ErrorCode(create(all[1])()))
				}
			}
			require.Len(t, b.events(runID), rounds+2)
			b.check(runID)
		})
	}
}

// BR-02: late step_started calls race two completions; no event follows the completion, and the step never leaves its
// terminal state.
func TestBR02StartedAgainstCompleted(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0]
	runID := b.running()
	for i := range 500 {
		id := fmt.Sprintf("step_%d", i)
		b.send(runID, world.EventStepCreated, id, sample(b, world.EventStepCreated))
		var calls []func() error
		for n := range 5 {
			calls = append(calls, all[n%2].call(runID, world.EventStepStarted, id))
		}
		for n := range 2 {
			calls = append(calls, all[n%2].call(runID, world.EventStepCompleted, id))
		}
		rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		if i%2 == 0 {
			for n, call := range calls {
				calls[n] = func() error {
					<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond) //nolint:gosec // any time works
					return call()
				}
			}
		}
		got := codes(together(calls...))
		require.Equal(t, 7, got[""]+got[world.CodeConflict])
		step, err := b.GetStep(b.ctx, runID, id, false)
		require.NoError(t, err)
		require.Equal(t, world.StepCompleted, step.Status)
		require.Equal(t, got[""], step.Attempt+1, "one acceptance a start, and one completion")
		page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: id})
		require.NoError(t, err)
		require.Equal(t, world.EventStepCompleted, page.Data[len(page.Data)-1].Type)
		require.Len(t, page.Data, got[""]+1)
	}
	b.check(runID)
}

// BR-04: run_started carries the run's input and races the late run_created, comes long before it, or comes alone.
// There is one run_created, it is first, and the run always has its input.
func TestBR04ResilientStart(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0]
	var unraced []string
	for i := range 800 {
		runID := b.ids.Prefixed("wrun_")
		started := all[i%2].send(runID, world.EventRunStarted, "", b.runData())
		require.Equal(t, world.RunRunning, started.Run.Status)
		require.Equal(t, raw(t, []byte("in")), started.Run.Input)
		if i%2 == 0 {
			_, err := all[i/2%2].try(runID, world.EventRunCreated, "", b.runData())
			require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		}
		again := b.send(runID, world.EventRunStarted, "", b.runData())
		require.Equal(t, []world.EventType{world.EventRunCreated, world.EventRunStarted}, types(again.Events))
		unraced = append(unraced, runID)
	}
	b.check(unraced...)
	for range 200 {
		runID := b.ids.Prefixed("wrun_")
		var started world.EventResult
		start := func() (err error) {
			started, err = all[1].try(runID, world.EventRunStarted, "", b.runData())
			return err
		}
		errs := together(start, all[0].call(runID, world.EventRunCreated, ""))
		require.NoError(t, errs[0])
		require.Contains(t, []world.Code{"", world.CodeConflict}, world.ErrorCode(errs[1]))
		require.Equal(t, raw(t, []byte("in")), started.Run.Input)
		require.Equal(t, []world.EventType{world.EventRunCreated, world.EventRunStarted}, types(started.Events))
		require.Nil(t, started.Event.Data)
		b.check(runID)
		page, err := b.ListRuns(b.ctx, world.RunQuery{WorkflowName: "wf", Page: world.PageRequest{Limit: 1}})
		require.NoError(t, err)
		require.Equal(t, runID, page.Data[0].RunID)
	}
}

package storage

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// A step_started with the input creates the step: two events in consecutive slots, the input only in the first, and the
// answer says which caller created it.
func TestFirstStartMakesTheStep(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for name, input := range map[string][]byte{"small": {1, 2}, "empty": {}, "split": make([]byte, 3*record.SplitAbove)} {
			b := newBundle(t, r).on(t, 7)
			runID := b.running()
			event := data(t, "stepName", "add", "workflowName", "wf", "input", input, "ownerMessageId", "msg_1", "attempt", 1)
			got := b.send(runID, firstStart, x, event)
			require.True(t, got.StepCreated, name)
			want := world.Step{
				RunID: runID, StepID: x, StepName: "add", Status: world.StepRunning, Input: raw(t, input), Attempt: 1, SpecVersion: 7,
				CreatedAt: b.now(), UpdatedAt: b.now(), StartedAt: b.now(),
			}
			require.Equal(t, want, *got.Step)
			read, err := b.GetStep(b.ctx, runID, x, false)
			require.NoError(t, err)
			require.Equal(t, want, read)
			located, err := b.GetStep(b.ctx, "", x, false)
			require.NoError(t, err)
			require.Equal(t, want, located)
			log := b.events(runID)
			require.Equal(t, []world.EventType{world.EventRunCreated, world.EventRunStarted, world.EventStepCreated, world.EventStepStarted}, types(log))
			require.Equal(t, data(t, "stepName", "add", "input", input), log[2].Data)
			require.Equal(t, data(t, "stepName", "add", "workflowName", "wf", "ownerMessageId", "msg_1", "attempt", 1), log[3].Data)
			require.Equal(t, log[3], *got.Event)
			require.Equal(t, []int{3, 4}, []int{storagetest.SlotOf(log[2].EventID), storagetest.SlotOf(log[3].EventID)})
			require.Equal(t, []string{x, x}, []string{log[2].CorrelationID, log[3].CorrelationID})
		}
	})
}

// A step_started creates a step only with a name and an input; without one of them the step must exist.
func TestFirstStartNeedsNameAndInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	for _, event := range []world.Fields{nil, data(t, "stepName", "add"), data(t, "input", []byte{1}), data(t, "stepName", 7, "input", []byte{1})} {
		_, err := b.try(runID, world.EventStepStarted, x, event)
		require.Equal(t, world.CodeStepNotFound, world.ErrorCode(err))
	}
	require.Len(t, b.events(runID), 2)
}

// Ten callers start one new step on two replicas: one succeeds, nine are answered that it exists.
func TestFirstStartHasOneWinner(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0].on(t, 7)
	runID := b.running()
	for i := range 100 {
		id := fmt.Sprintf("step_%d", i)
		results := make([]world.EventResult, 10)
		var calls []func() error
		for n := range results {
			on := all[n%2].on(t, 7)
			calls = append(calls, func() (err error) {
				results[n], err = on.try(runID, firstStart, id, sample(on, firstStart))
				return err
			})
		}
		errs := together(calls...)
		require.Equal(t, map[world.Code]int{"": 1, world.CodeConflict: 9}, codes(errs))
		for n, err := range errs {
			require.Equal(t, err == nil, results[n].StepCreated)
			if err != nil {
				require.ErrorContains(t, err, "already created")
			}
		}
		page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: id})
		require.NoError(t, err)
		require.Equal(t, []world.EventType{world.EventStepCreated, world.EventStepStarted}, types(page.Data))
	}
	b.check(runID)
}

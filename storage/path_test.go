package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A run with one step and one wait, from its creation to its end, as SDK v4 writes it.
func TestWholeRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		start := b.now()
		created := b.send("", world.EventRunCreated, "", b.runData())
		runID := created.Run.RunID
		require.Equal(t, world.Run{
			RunID: runID, Status: world.RunPending, DeploymentID: "dpl_1", WorkflowName: "wf", SpecVersion: 3,
			ExecutionContext: raw(t, map[string]any{"workflowCoreVersion": "4.8.9"}), Input: raw(t, []byte("in")),
			CreatedAt: start, UpdatedAt: start,
		}, *created.Run)
		require.Equal(t, 25_000, created.MaxEvents)

		b.clock.Add(time.Millisecond)
		started := b.send(runID, world.EventRunStarted, "", nil)
		require.Equal(t, world.RunRunning, started.Run.Status)
		require.Equal(t, start+1, started.Run.StartedAt)
		require.Equal(t, raw(t, []byte("in")), started.Run.Input)
		require.Equal(t, []world.Event{*created.Event, *started.Event}, started.Events)
		require.False(t, started.HasMore)

		b.clock.Add(time.Millisecond)
		step := b.send(runID, world.EventStepCreated, "step_1", data(t, "stepName", "add", "input", []byte{1})).Step
		require.Equal(t, world.Step{
			RunID: runID, StepID: "step_1", StepName: "add", Status: world.StepPending, Input: raw(t, []byte{1}),
			SpecVersion: 3, CreatedAt: start + 2, UpdatedAt: start + 2,
		}, *step)
		b.clock.Add(time.Millisecond)
		step = b.send(runID, world.EventStepStarted, "step_1", data(t, "stepName", "add")).Step
		require.Equal(t, 1, step.Attempt)
		require.Equal(t, world.StepRunning, step.Status)
		require.Equal(t, start+3, step.StartedAt)
		require.Equal(t, raw(t, []byte{1}), step.Input)
		b.clock.Add(time.Millisecond)
		step = b.send(runID, world.EventStepCompleted, "step_1", data(t, "result", []byte{2})).Step
		require.Equal(t, world.StepCompleted, step.Status)
		require.Equal(t, raw(t, []byte{2}), step.Output)
		require.Equal(t, start+4, step.CompletedAt)

		wait := b.send(runID, world.EventWaitCreated, "wait_1", data(t, "resumeAt", int64(start+1000))).Wait
		require.Equal(t, world.Wait{
			WaitID: runID + "-wait_1", RunID: runID, Status: "waiting", ResumeAt: start + 1000,
			CreatedAt: start + 4, UpdatedAt: start + 4, SpecVersion: 3,
		}, *wait)
		b.clock.Add(time.Second)
		wait = b.send(runID, world.EventWaitCompleted, "wait_1", data(t, "resumeAt", int64(start+1000))).Wait
		require.Equal(t, "completed", wait.Status)
		require.Equal(t, start+1004, wait.CompletedAt)

		again := b.send(runID, world.EventRunStarted, "", nil)
		require.Nil(t, again.Event)
		require.Equal(t, start+1, again.Run.StartedAt)
		require.Len(t, again.Events, 7)

		end := b.send(runID, world.EventRunCompleted, "", data(t, "output", []byte("out")))
		require.Equal(t, world.RunCompleted, end.Run.Status)
		got, err := b.GetRun(b.ctx, runID, false)
		require.NoError(t, err)
		require.Equal(t, *end.Run, got)
		require.Equal(t, raw(t, []byte("out")), got.Output)
		require.Equal(t, []world.EventType{
			world.EventRunCreated, world.EventRunStarted, world.EventStepCreated, world.EventStepStarted, world.EventStepCompleted,
			world.EventWaitCreated, world.EventWaitCompleted, world.EventRunCompleted,
		}, types(b.events(runID)))

		got, err = b.GetRun(b.ctx, runID, true)
		require.NoError(t, err)
		require.Nil(t, got.Input)
		require.Nil(t, got.Output)
		require.Equal(t, "wf", got.WorkflowName)
		gotStep, err := b.GetStep(b.ctx, "", "step_1", false)
		require.NoError(t, err)
		require.Equal(t, *step, gotStep)
		runs, err := b.ListRuns(b.ctx, world.RunQuery{WorkflowName: "wf", Statuses: []world.RunStatus{world.RunCompleted}})
		require.NoError(t, err)
		require.Len(t, runs.Data, 1)
		related, err := b.ListEvents(b.ctx, world.EventQuery{CorrelationID: "wait_1"})
		require.NoError(t, err)
		require.Len(t, related.Data, 2)
	})
}

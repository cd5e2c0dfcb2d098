package storagetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Check requires what must hold for runs whatever happened to them: I1 to I3 of docs/faults.md. It is for stores that nobody is
// calling.
func (c *Caller) Check(runIDs ...string) {
	c.T.Helper()
	for _, runID := range runIDs {
		log := c.Events(runID)
		run, err := c.GetRun(c.Ctx, runID, false)
		require.NoError(c.T, err)
		c.checkLog(log)
		c.checkEntities(run, log)
	}
}

// checkLog is I1 and I2.
func (c *Caller) checkLog(log []world.Event) {
	c.T.Helper()
	require.NotEmpty(c.T, log)
	require.Equal(c.T, world.EventRunCreated, log[0].Type)
	ended := map[string]world.EventType{}
	created := map[string]bool{}
	for i, e := range log {
		if i > 0 {
			require.Greater(c.T, e.EventID, log[i-1].EventID)
			require.GreaterOrEqual(c.T, e.CreatedAt, log[i-1].CreatedAt)
			require.NotEqual(c.T, world.EventRunCreated, e.Type, "a second run_created")
		}
		kind := strings.TrimSuffix(string(e.Type), "_created")
		if kind != string(e.Type) || e.Type == world.EventHookConflict {
			require.False(c.T, created[e.CorrelationID], "%s twice for %s", e.Type, e.CorrelationID)
			created[e.CorrelationID] = true
			require.Empty(c.T, ended[""], "%s after the run ended", e.Type)
		}
		if last, over := ended[e.CorrelationID]; over {
			require.Equal(c.T, world.EventRunCancelled, last, "%s after %s of %q", e.Type, last, e.CorrelationID)
			require.Equal(c.T, world.EventRunCancelled, e.Type, "%s after %s of %q", e.Type, last, e.CorrelationID)
		}
		switch e.Type {
		case world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled, world.EventStepCompleted,
			world.EventStepFailed, world.EventHookDisposed, world.EventHookConflict, world.EventWaitCompleted:
			ended[e.CorrelationID] = e.Type
		}
		if e.Type == world.EventHookReceived || e.Type == world.EventAttrSet {
			require.Empty(c.T, ended[""], "%s after the run ended", e.Type)
		}
	}
}

// checkEntities is I3: what the entities say is what folding the events gives. It returns the steps.
func (c *Caller) checkEntities(run world.Run, log []world.Event) []world.Step {
	c.T.Helper()
	status := world.RunPending
	steps := map[string]world.Step{}
	hooks, outlive := map[string]bool{}, map[string]bool{}
	for _, e := range log {
		step := steps[e.CorrelationID]
		switch e.Type {
		case world.EventRunStarted:
			status = world.RunRunning
			require.Equal(c.T, e.CreatedAt, run.StartedAt)
		case world.EventRunCompleted:
			status = world.RunCompleted
		case world.EventRunFailed:
			status = world.RunFailed
		case world.EventRunCancelled:
			status = world.RunCancelled
		case world.EventStepCreated:
			step.Status, step.CreatedAt = world.StepPending, e.CreatedAt
		case world.EventStepStarted:
			step.Status = world.StepRunning
			step.Attempt++
			if step.StartedAt == 0 {
				step.StartedAt = e.CreatedAt
			}
		case world.EventStepRetrying:
			step.Status = world.StepPending
		case world.EventStepCompleted:
			step.Status, step.CompletedAt = world.StepCompleted, e.CreatedAt
		case world.EventStepFailed:
			step.Status, step.CompletedAt = world.StepFailed, e.CreatedAt
		case world.EventHookCreated:
			hooks[e.CorrelationID] = true
			if millisOf(e.Data, "tokenRetentionUntil") > c.now() {
				outlive[e.CorrelationID] = true
			}
		case world.EventHookDisposed:
			delete(hooks, e.CorrelationID)
			delete(outlive, e.CorrelationID)
		}
		if strings.HasPrefix(string(e.Type), "step_") {
			step.UpdatedAt = e.CreatedAt
			steps[e.CorrelationID] = step
		}
	}
	require.Equal(c.T, status, run.Status)
	require.Equal(c.T, status.Terminal(), run.CompletedAt != 0)
	page, err := c.ListSteps(c.Ctx, world.StepQuery{RunID: run.RunID, Page: world.PageRequest{Limit: 1000}})
	require.NoError(c.T, err)
	require.Len(c.T, page.Data, len(steps))
	for _, got := range page.Data {
		want := steps[got.StepID]
		require.Equal(c.T, []any{want.Status, want.Attempt, want.CreatedAt, want.UpdatedAt, want.StartedAt, want.CompletedAt},
			[]any{got.Status, got.Attempt, got.CreatedAt, got.UpdatedAt, got.StartedAt, got.CompletedAt}, "step %s", got.StepID)
	}
	if run.Status.Terminal() {
		hooks = outlive
	}
	live, err := c.ListHooks(c.Ctx, world.HookQuery{RunID: run.RunID, Page: world.PageRequest{Limit: 1000}})
	require.NoError(c.T, err)
	require.Len(c.T, live.Data, len(hooks))
	for _, hook := range live.Data {
		require.True(c.T, hooks[hook.HookID])
		got, err := c.GetHookByToken(c.Ctx, hook.Token, false)
		require.NoError(c.T, err)
		require.NotNil(c.T, got.Resume)
		got.Resume = nil // the one thing that only a look-up by token has
		require.Equal(c.T, hook, got)
	}
	return page.Data
}

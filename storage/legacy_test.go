package storage

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// legacyRun creates a run as SDKs from before event sourcing do.
func (b *bundle) legacyRun() world.Run {
	b.t.Helper()
	run, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{
		DeploymentID: "dpl_1", WorkflowName: "wf", Input: raw(b.t, []any{1, "two"}),
		ExecutionContext: raw(b.t, map[string]any{"traceCarrier": map[string]any{}}),
	})
	require.NoError(b.t, err)
	return run
}

// update changes a run of the legacy calls; it must be accepted.
func (b *bundle) update(runID string, status world.RunStatus) world.Run {
	b.t.Helper()
	run, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: status, Resume: status == "resume"})
	require.NoError(b.t, err)
	return run
}

// inLists asserts that a run is in the list of its status and in no other.
func (b *bundle) inLists(runID string, status world.RunStatus) {
	b.t.Helper()
	for _, s := range runindex.Statuses {
		err := b.redis.Client.ZScore(b.ctx, b.index.Keys.ByStatus(s), runID).Err()
		require.Equal(b.t, s == status, err == nil, "run %s in the list %s", status, s)
	}
}

// The life of a legacy run: the caller changes it, and every read shows it like any other run.
func TestLegacyRunLife(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		created := b.now()
		run := b.legacyRun()
		want := world.Run{
			RunID: run.RunID, Status: world.RunPending, DeploymentID: "dpl_1", WorkflowName: "wf",
			ExecutionContext: raw(t, map[string]any{"traceCarrier": map[string]any{}}), Input: raw(t, []any{1, "two"}),
			CreatedAt: created, UpdatedAt: created,
		}
		same := func(got world.Run) {
			t.Helper()
			require.Equal(t, want, got)
			read, err := b.GetRun(b.ctx, run.RunID, false)
			require.NoError(t, err)
			require.Equal(t, want, read)
			b.inLists(run.RunID, want.Status)
			page, err := b.ListRuns(b.ctx, world.RunQuery{WorkflowName: "wf", Statuses: []world.RunStatus{want.Status}})
			require.NoError(t, err)
			require.Equal(t, []world.Run{want}, page.Data)
		}
		require.Regexp(t, `^wrun_[0-9A-HJKMNP-TV-Z]{26}$`, run.RunID)
		same(run)

		b.clock.Add(time.Second)
		want.Status, want.StartedAt, want.UpdatedAt = world.RunRunning, b.now(), b.now()
		same(b.update(run.RunID, world.RunRunning))
		b.clock.Add(time.Second)
		want.Status, want.UpdatedAt = world.RunPaused, b.now()
		same(b.update(run.RunID, world.RunPaused))
		b.clock.Add(time.Second)
		want.Status, want.UpdatedAt = world.RunRunning, b.now()
		resumed, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, Status: world.RunRunning, Resume: true})
		require.NoError(t, err)
		same(resumed)
		_, err = b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, Status: world.RunRunning, Resume: true})
		require.Equal(t, world.CodeNotFound, world.ErrorCode(err), "it is not paused")

		want.ExecutionContext = raw(t, map[string]any{"a": 1})
		got, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, ExecutionContext: want.ExecutionContext})
		require.NoError(t, err)
		same(got)
		b.clock.Add(time.Second)
		want.Status, want.UpdatedAt, want.CompletedAt, want.Output = world.RunCompleted, b.now(), b.now(), raw(t, []any{42})
		got, err = b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, Status: world.RunCompleted, Output: want.Output})
		require.NoError(t, err)
		same(got)

		// It has ended and no longer changes.
		b.clock.Add(time.Second)
		same(b.update(run.RunID, world.RunCompleted))
		for _, status := range []world.RunStatus{world.RunRunning, world.RunFailed, world.RunCancelled, world.RunPaused} {
			_, err = b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: run.RunID, Status: status})
			require.Equal(t, world.CodeConflict, world.ErrorCode(err), status)
		}
		none, err := b.GetRun(b.ctx, run.RunID, true)
		require.NoError(t, err)
		want.Input, want.Output = nil, nil
		require.Equal(t, want, none)
	})
}

// An error may be text or an object; reads always return an object.
func TestLegacyErrors(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for name, c := range map[string]struct {
		given any
		want  map[string]any
	}{
		"a text":    {"boom", map[string]any{"message": "boom"}},
		"an object": {map[string]any{"message": "boom", "stack": "at x", "code": "E1"}, map[string]any{"message": "boom", "stack": "at x", "code": "E1"}},
		"none":      {nil, map[string]any{"message": "Unknown error"}},
	} {
		req := world.UpdateLegacyRun{RunID: b.legacyRun().RunID, Status: world.RunFailed}
		if c.given != nil {
			req.Error = raw(t, c.given)
		}
		run, err := b.UpdateLegacyRun(b.ctx, req)
		require.NoError(t, err, name)
		var got map[string]any
		require.NoError(t, cbor.Unmarshal(run.Error, &got))
		require.Equal(t, c.want, got, name)
		require.Nil(t, run.Output)
	}
}

// The life of a step. The caller counts the attempts.
func TestLegacyStepLife(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.legacyRun().RunID
		create := world.CreateLegacyStep{RunID: runID, StepID: x, StepName: "add", Input: raw(t, []any{1})}
		got, err := b.CreateLegacyStep(b.ctx, create)
		require.NoError(t, err)
		want := world.Step{
			RunID: runID, StepID: x, StepName: "add", Status: world.StepPending, Input: raw(t, []any{1}), CreatedAt: b.now(), UpdatedAt: b.now(),
		}
		same := func(got world.Step, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want, got)
			for _, in := range []string{runID, ""} {
				read, err := b.GetStep(b.ctx, in, x, false)
				require.NoError(t, err)
				require.Equal(t, want, read)
			}
			page, err := b.ListSteps(b.ctx, world.StepQuery{RunID: runID})
			require.NoError(t, err)
			require.Equal(t, []world.Step{want}, page.Data)
		}
		same(got, nil)
		_, err = b.CreateLegacyStep(b.ctx, create)
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))

		one, two := 1, 2
		b.clock.Add(time.Second)
		want.Status, want.Attempt, want.StartedAt, want.UpdatedAt = world.StepRunning, 1, b.now(), b.now()
		same(b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: world.StepRunning, Attempt: &one}))
		b.clock.Add(time.Second)
		want.Status, want.RetryAfter, want.UpdatedAt = world.StepPending, b.now()+5_000, b.now()
		same(b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: world.StepPending, RetryAfter: b.now() + 5_000}))
		b.clock.Add(time.Second)
		want.Status, want.Attempt, want.UpdatedAt = world.StepRunning, 2, b.now()
		same(b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: world.StepRunning, Attempt: &two}))
		b.clock.Add(time.Second)
		want.Status, want.Output, want.CompletedAt, want.UpdatedAt = world.StepCompleted, raw(t, []any{3}), b.now(), b.now()
		same(b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: world.StepCompleted, Output: want.Output}))

		for _, status := range []world.StepStatus{world.StepRunning, world.StepCompleted, world.StepFailed} {
			_, err = b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: status})
			require.Equal(t, world.CodeRunExpired, world.ErrorCode(err), "it has ended")
		}
		_, err = b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: "step_none", Status: world.StepRunning})
		require.Equal(t, world.CodeStepNotFound, world.ErrorCode(err))
		require.ErrorContains(t, err, `Step "step_none" not found`)
		none, err := b.GetStep(b.ctx, runID, x, true)
		require.NoError(t, err)
		want.Input, want.Output = nil, nil
		require.Equal(t, want, none)
	})
}

// Events are only a log: they are kept in order with their data, and change nothing.
func TestLegacyEvents(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		run := b.legacyRun()
		var want []world.Event
		for _, e := range []world.CreateLegacyEvent{
			{Type: world.LegacyWorkflowStarted},
			{Type: world.EventStepStarted, CorrelationID: "step_1"},
			{Type: world.EventStepFailed, CorrelationID: "step_1", Data: data(t, "error", "boom", "stack", "at x", "fatal", true)},
			{Type: world.EventStepRetrying, CorrelationID: "step_1", Data: data(t, "attempt", 2)},
			{Type: world.EventStepCompleted, CorrelationID: "step_1", Data: data(t, "result", []any{make([]byte, 5_000)})},
			{Type: world.EventHookReceived, CorrelationID: "hook_1", Data: data(t, "payload", []any{})},
			{Type: world.EventWaitCreated, CorrelationID: "wait_1", Data: data(t, "resumeAt", 5)},
			{Type: world.LegacyWorkflowFailed, Data: data(t, "error", "boom")},
			{Type: world.LegacyWorkflowCompleted},
		} {
			e.RunID = run.RunID
			b.clock.Add(time.Millisecond)
			got, err := b.CreateLegacyEvent(b.ctx, e)
			require.NoError(t, err, e.Type)
			require.Regexp(t, `^wevt_[0-9A-HJKMNP-TV-Z]{26}$`, got.EventID)
			require.Equal(t, world.Event{
				EventID: got.EventID, RunID: run.RunID, Type: e.Type, CorrelationID: e.CorrelationID, CreatedAt: b.now(), Data: e.Data,
			}, got)
			want = append(want, got)
		}
		require.Equal(t, want, b.events(run.RunID))
		page, err := b.ListEvents(b.ctx, world.EventQuery{CorrelationID: "step_1"})
		require.NoError(t, err)
		require.Equal(t, want[1:5], page.Data)
		read, err := b.GetRun(b.ctx, run.RunID, false)
		require.NoError(t, err)
		require.Equal(t, run, read)
		_, err = b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: run.RunID, Type: world.EventRunCreated})
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	})
}

// The life of a hook. A token is unique among all hooks, created by legacy calls or by events.
func TestLegacyHookLife(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID, modern := b.legacyRun().RunID, b.running()
		create := world.CreateLegacyHook{RunID: runID, HookID: "hook_1", Token: "to/k en", Metadata: raw(t, []any{map[string]any{"a": 1}})}
		want := world.Hook{
			RunID: runID, HookID: "hook_1", Token: "to/k en", OwnerID: record.NoOwner, ProjectID: record.NoOwner, Environment: record.NoOwner,
			Metadata: create.Metadata, CreatedAt: b.now(),
		}
		got, err := b.CreateLegacyHook(b.ctx, create)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = b.GetHook(b.ctx, "hook_1", false)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = b.GetHookByToken(b.ctx, "to/k en", false)
		require.NoError(t, err)
		got.Resume = nil
		require.Equal(t, want, got)
		for _, in := range []string{runID, ""} {
			page, err := b.ListHooks(b.ctx, world.HookQuery{RunID: in})
			require.NoError(t, err)
			require.Equal(t, []world.Hook{want}, page.Data)
		}
		require.Empty(t, b.events(runID), "the caller appends hook_created itself")

		for _, c := range []world.CreateLegacyHook{
			create,
			{RunID: runID, HookID: "hook_2", Token: "to/k en"},
			{RunID: runID, HookID: "hook_1", Token: "another"},
			{RunID: b.legacyRun().RunID, HookID: "hook_3", Token: "to/k en"},
		} {
			_, err = b.CreateLegacyHook(b.ctx, c)
			require.Equal(t, world.CodeConflict, world.ErrorCode(err), c)
		}
		require.Equal(t, world.EventHookConflict, b.send(modern, world.EventHookCreated, "hook_4", data(t, "token", "to/k en")).Event.Type)
		b.send(modern, world.EventHookCreated, "hook_5", data(t, "token", "modern"))
		_, err = b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: runID, HookID: "hook_6", Token: "modern"})
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))

		gone, err := b.DisposeLegacyHook(b.ctx, world.DisposeLegacyHook{HookID: "hook_1", ResolveNone: true})
		require.NoError(t, err)
		want.Metadata = nil
		require.Equal(t, want, gone)
		for _, hookID := range []string{"hook_1", "hook_none"} {
			_, err = b.DisposeLegacyHook(b.ctx, world.DisposeLegacyHook{HookID: hookID})
			require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		}
		_, err = b.GetHookByToken(b.ctx, "to/k en", false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		_, err = b.CreateLegacyHook(b.ctx, create)
		require.NoError(t, err, "token and id are free again")
		b.update(runID, world.RunCancelled)
		_, err = b.GetHook(b.ctx, "hook_1", false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err), "a run that ends takes its hooks along")
		require.Equal(t, world.EventHookCreated, b.send(modern, world.EventHookCreated, "hook_7", data(t, "token", "to/k en")).Event.Type)
		b.checkClaims()
	})
}

// A call that a finished run no longer accepts is answered 410, which the SDK reads as "nothing left to do".
func TestLegacyRunThatHasEnded(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for _, status := range []world.RunStatus{world.RunCompleted, world.RunFailed, world.RunCancelled} {
		runID := b.legacyRun().RunID
		b.update(runID, status)
		_, err := b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: runID, StepID: x, StepName: "add", Input: raw(t, []any{})})
		require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
		_, err = b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: runID, HookID: x, Token: "t"})
		require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
		for eventType, announces := range legacyEvents {
			_, err = b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: runID, Type: eventType, CorrelationID: x})
			require.Equal(t, announces, world.ErrorCode(err) == world.CodeRunExpired, "%s: %v", eventType, err)
		}
		b.checkClaims()
	}
}

// Legacy calls do not change runs that were created by events, and say so when something does not exist.
func TestLegacyCallsOnOtherRuns(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for runID, want := range map[string]world.Code{b.running(): world.CodeConflict, "wrun_none": world.CodeRunNotFound} {
		before := b.events(runID)
		for name, call := range map[string]func() error{
			"runs.update": func() error {
				_, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunFailed})
				return err
			},
			"steps.create": func() error {
				_, err := b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: runID, StepID: x, StepName: "s", Input: raw(t, 1)})
				return err
			},
			"steps.update": func() error {
				_, err := b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x})
				return err
			},
			"events.create": func() error {
				_, err := b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: runID, Type: world.EventStepStarted})
				return err
			},
			"hooks.create": func() error {
				_, err := b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: runID, HookID: x, Token: "t"})
				return err
			},
		} {
			require.Equal(t, want, world.ErrorCode(call()), name)
		}
		require.Equal(t, before, b.events(runID))
	}
	b.checkClaims()
}

// Bad input is refused without a call to Redis.
func TestLegacyBadInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.legacyRun().RunID
	one := raw(t, 1)
	for name, call := range map[string]func() error{
		"no deployment": func() error {
			_, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{WorkflowName: "w", Input: one})
			return err
		},
		"no workflow name": func() error {
			_, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "d", Input: one})
			return err
		},
		"no input": func() error {
			_, err := b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "w"})
			return err
		},
		"a bad run id": func() error { _, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: "a/b"}); return err },
		"back to pending": func() error {
			_, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunPending})
			return err
		},
		"no status of ours": func() error {
			_, err := b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: "asleep"})
			return err
		},
		"no step name": func() error {
			_, err := b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: runID, StepID: x, Input: one})
			return err
		},
		"no step input": func() error {
			_, err := b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: runID, StepID: x, StepName: "s"})
			return err
		},
		"a bad step id": func() error {
			_, err := b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: "a b"})
			return err
		},
		"a step asleep": func() error {
			_, err := b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: "asleep"})
			return err
		},
		"a bad correlation": func() error {
			_, err := b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: runID, Type: world.EventStepStarted, CorrelationID: "a/b"})
			return err
		},
		"no token": func() error {
			_, err := b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: runID, HookID: x})
			return err
		},
		"a bad hook id": func() error { _, err := b.DisposeLegacyHook(b.ctx, world.DisposeLegacyHook{HookID: "a/b"}); return err },
	} {
		require.Equal(t, world.CodeInvalid, world.ErrorCode(call()), name)
	}
}

// A repeated call changes nothing and gets the first answer, even if the run has changed since.
func TestLegacySameRequestSameAnswer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.legacyRun().RunID
		_, err := b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: runID, StepID: "step_0", StepName: "s", Input: raw(t, 1)})
		require.NoError(t, err)
		one := 1
		calls := []func() (any, error){
			func() (any, error) {
				return b.CreateLegacyRun(b.ctx, world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "other", Input: raw(t, 1), RequestID: "r"})
			},
			func() (any, error) {
				return b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunRunning, RequestID: "r"})
			},
			func() (any, error) {
				return b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: runID, StepID: x, StepName: "s", Input: raw(t, 1), RequestID: "r"})
			},
			func() (any, error) {
				return b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: world.StepRunning, Attempt: &one, RequestID: "r"})
			},
			func() (any, error) {
				return b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: runID, Type: world.EventStepStarted, CorrelationID: x, RequestID: "r"})
			},
			func() (any, error) {
				return b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: runID, HookID: "hook_1", Token: "t", RequestID: "r"})
			},
			func() (any, error) {
				return b.DisposeLegacyHook(b.ctx, world.DisposeLegacyHook{HookID: "hook_1", RequestID: "r"})
			},
			func() (any, error) {
				return b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunPaused, RequestID: "r"})
			},
			func() (any, error) {
				return b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunRunning, Resume: true, RequestID: "r"})
			},
			func() (any, error) {
				return b.UpdateLegacyStep(b.ctx, world.UpdateLegacyStep{RunID: runID, StepID: x, Status: world.StepCompleted, Output: raw(t, 3), RequestID: "r"})
			},
			func() (any, error) {
				return b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: world.RunFailed, Error: raw(t, "boom"), RequestID: "r"})
			},
		}
		first := make([]any, len(calls))
		for i, call := range calls {
			b.clock.Add(time.Second)
			answer, err := call()
			require.NoError(t, err, "call %d", i)
			first[i] = answer
			again, err := call()
			require.NoError(t, err, "call %d", i)
			require.Equal(t, answer, again, "call %d, at once", i)
		}
		b.clock.Add(5 * time.Minute)
		for i, call := range calls {
			again, err := call()
			require.NoError(t, err, "call %d", i)
			require.Equal(t, first[i], again, "call %d, five minutes later", i)
		}
		require.Len(t, b.events(runID), 1)
		require.Equal(t, int64(2), r.Client.ZCard(b.ctx, b.index.Keys.All()).Val())
		b.inLists(runID, world.RunFailed)
		b.checkClaims()
	})
}

// The answers of calls are lost: the repeated calls have one effect.
func TestLegacyLostAnswers(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	p := newProxy(t, r.Addr)
	through := *r
	through.Client = redistest.Client(t, p.Addr())
	b := newBundle(t, &through)
	p.armed.Store(true)
	run := b.legacyRun()
	p.armed.Store(true)
	b.update(run.RunID, world.RunRunning)
	for i := range 5 {
		p.armed.Store(true)
		_, err := b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: run.RunID, Type: world.EventStepStarted, CorrelationID: fmt.Sprintf("step_%d", i)})
		require.NoError(t, err)
	}
	require.Len(t, b.events(run.RunID), 5)
	require.EqualValues(t, 7, p.swallows.Load())
}

// Concurrent pause, resume and end: the lists agree with the resulting state of the run.
func TestLegacyRacesLeaveTheListsTrue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		for range 20 {
			runID := b.legacyRun().RunID
			b.update(runID, world.RunRunning)
			var all sync.WaitGroup
			for _, status := range []world.RunStatus{world.RunPaused, world.RunRunning, world.RunPaused, world.RunRunning, world.RunCancelled} {
				all.Go(func() {
					_, _ = b.UpdateLegacyRun(b.ctx, world.UpdateLegacyRun{RunID: runID, Status: status})
				})
			}
			all.Wait()
			run, err := b.GetRun(b.ctx, runID, true)
			require.NoError(t, err)
			require.Equal(t, world.RunCancelled, run.Status)
			b.inLists(runID, run.Status)
		}
	})
}

// Many callers want one token, by legacy calls and by events: one gets it.
func TestLegacyAndModernHooksContend(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		for round := range 10 {
			token := fmt.Sprintf("token %d", round)
			won := make(chan string, 8)
			var all sync.WaitGroup
			for i := range 4 {
				legacy, modern := b.legacyRun().RunID, b.running()
				hookID := fmt.Sprintf("hook_%d_%d", round, i)
				all.Go(func() {
					if _, err := b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: legacy, HookID: hookID + "l", Token: token}); err == nil {
						won <- legacy
					}
				})
				all.Go(func() {
					got, err := b.try(modern, world.EventHookCreated, hookID, data(t, "token", token))
					if err == nil && got.Hook != nil {
						won <- modern
					}
				})
			}
			all.Wait()
			require.Len(t, won, 1)
			hook, err := b.GetHookByToken(b.ctx, token, true)
			require.NoError(t, err)
			require.Equal(t, <-won, hook.RunID)
		}
		b.checkClaims()
	})
}

// A crash between the commit and the lists: the sweeper moves the run to the right list.
func TestLegacyCrashAfterCommit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		paused, resumed := b.legacyRun().RunID, b.legacyRun().RunID
		b.update(paused, world.RunRunning)
		b.update(resumed, world.RunPaused)
		require.NoError(t, r.Client.HSet(b.ctx, b.keys.of(paused).run(), "s", "paused").Err())
		require.NoError(t, r.Client.HSet(b.ctx, b.keys.of(resumed).run(), "s", "running").Err())
		b.clock.Add(2 * time.Minute)
		require.Equal(t, 2, b.sweep())
		b.inLists(paused, world.RunPaused)
		b.inLists(resumed, world.RunRunning)
		require.Zero(t, b.sweep())
	})
}

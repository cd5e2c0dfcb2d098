package storage

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// A hook with a retention keeps its token when its run ends, can be found and listed, accepts no payload, and releases
// the token when its retention is over: to the next claimant or the sweeper.
func TestHookOutlivesItsRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled} {
			runID, next := b.running(), b.running()
			hookID := "hook_" + string(end)
			until := b.clock.Now().Add(time.Hour).UnixMilli()
			created := b.send(runID, world.EventHookCreated, hookID, data(t, "token", "tok", "tokenRetentionUntil", until, "isSystem", true, "isWebhook", true))
			require.Equal(t, world.Millis(until), created.Hook.TokenRetentionUntil)
			require.True(t, created.Hook.IsSystem)
			b.send(runID, world.EventHookCreated, hookID+"_2", data(t, "token", "plain"))
			b.send(runID, end, "", sample(b, end))
			_, err := b.GetHookByToken(b.ctx, "plain", false)
			require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))

			b.clock.Add(time.Hour - time.Millisecond)
			for _, runID := range []string{"", runID} {
				page, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID})
				require.NoError(t, err)
				require.Equal(t, []world.Hook{*created.Hook}, page.Data)
			}
			got, err := b.GetHookByToken(b.ctx, "tok", false)
			require.NoError(t, err)
			require.Equal(t, 7, got.Resume.RunSpecVersion)
			got.Resume = nil
			require.Equal(t, *created.Hook, got)
			got, err = b.GetHook(b.ctx, hookID, false)
			require.NoError(t, err)
			require.Equal(t, *created.Hook, got)
			_, err = b.try(runID, world.EventHookReceived, hookID, sample(b, world.EventHookReceived))
			require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
			b.sweep()
			conflict := b.send(next, world.EventHookCreated, "hook_x", data(t, "token", "tok"))
			require.Equal(t, world.EventHookConflict, conflict.Event.Type)
			require.Equal(t, raw(t, runID), conflict.Event.Data.Get("conflictingRunId"))

			b.clock.Add(time.Millisecond)
			_, err = b.GetHookByToken(b.ctx, "tok", false)
			require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
			_, err = b.GetHook(b.ctx, hookID, false)
			require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
			page, err := b.ListHooks(b.ctx, world.HookQuery{})
			require.NoError(t, err)
			require.Empty(t, page.Data)
			if end != world.EventRunFailed { // otherwise the sweeper comes first
				taken := b.send(next, world.EventHookCreated, "hook_y_"+string(end), data(t, "token", "tok"))
				require.Equal(t, world.EventHookCreated, taken.Event.Type)
				b.check(next)
				b.send(next, world.EventHookDisposed, "hook_y_"+string(end), nil)
			}
			if end == world.EventRunFailed { // the hook's own slot is enough to let go of it
				require.NoError(t, r.Client.Del(b.ctx, b.keys.hook(hookID)).Err())
			}
			b.clock.Add(2 * time.Minute)
			b.sweep()
			require.Zero(t, b.sweep())
			require.Zero(t, r.Client.ZCard(b.ctx, b.keys.hooksIndex()).Val())
			require.Zero(t, r.Client.Exists(b.ctx, b.keys.hook(hookID), b.keys.of(runID).hooks(), b.keys.of(runID).hooksOrder()).Val())
			b.check(runID, next)
		}
	})
}

// While its run has not ended, a hook keeps its token beyond its retention.
func TestRetentionIsAMinimum(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	b.send(runID, retained, x, sample(b, retained))
	b.clock.Add(10 * retention)
	b.send(runID, world.EventHookReceived, x, sample(b, world.EventHookReceived))
	b.sweep()
	b.check(runID)
	b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	b.check(runID)
	require.Zero(t, b.redis.Client.ZCard(b.ctx, b.keys.hooksIndex()).Val())
}

// The retention is at most 30 days unless the operator sets another limit.
func TestRetentionLimit(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	month := b.clock.Now().Add(30 * 24 * time.Hour).UnixMilli()
	_, err := b.try(runID, world.EventHookCreated, "hook_1", data(t, "token", "t", "tokenRetentionUntil", month+1))
	require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	require.ErrorContains(t, err, "30 days")
	b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "t", "tokenRetentionUntil", month))
}

// Two claimants want the token of a hook whose retention has just ended: one gets it.
func TestTakeoverAfterRetention(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0].on(t, 7)
	for i := range 50 {
		runA, runB, runC := b.running(), b.running(), b.running()
		id := "hook_" + strings.Repeat("i", i)
		token := data(t, "token", "tok", "tokenRetentionUntil", b.clock.Now().Add(time.Second).UnixMilli())
		b.send(runA, world.EventHookCreated, id+"a", token)
		b.send(runA, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.clock.Add(time.Second)
		results := make([]world.EventResult, 2)
		errs := together(
			func() (err error) {
				results[0], err = all[0].on(t, 7).try(runB, world.EventHookCreated, id+"b", data(t, "token", "tok"))
				return err
			},
			func() (err error) {
				results[1], err = all[1].on(t, 7).try(runC, world.EventHookCreated, id+"c", data(t, "token", "tok"))
				return err
			},
		)
		require.Equal(t, map[world.Code]int{"": 2}, codes(errs))
		require.NotEqual(t, results[0].Event.Type, results[1].Event.Type)
		b.check(runA, runB, runC)
		b.send(runB, world.EventRunCancelled, "", nil)
		b.send(runC, world.EventRunCancelled, "", nil)
		b.checkClaims()
	}
}

// A run with zero retention leaves no payload: not in its entities, not in its events, nowhere in Redis. Its events can
// still be read.
func TestZeroRetention(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		const secret = "TOP-SECRET"
		for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled} {
			b := newBundle(t, r).on(t, 7)
			small, big := []byte(secret), []byte(strings.Repeat(secret, record.SplitAbove))
			runID := b.send("", world.EventRunCreated, "", data(t, "deploymentId", "d", "workflowName", "wf", "input", big,
				"attributes", map[string]string{"$retention": "0", "a": "1"}, "allowReservedAttributes", true)).Run.RunID
			b.send(runID, world.EventRunStarted, "", nil)
			b.send(runID, firstStart, "step_1", data(t, "stepName", "add", "input", small))
			b.send(runID, world.EventStepCompleted, "step_1", data(t, "stepName", "add", "result", big))
			b.send(runID, firstStart, "step_2", data(t, "stepName", "add", "input", big))
			b.send(runID, world.EventStepRetrying, "step_2", data(t, "stepName", "add", "error", big))
			b.send(runID, firstStart, "step_3", data(t, "stepName", "add", "input", small))
			b.send(runID, world.EventStepFailed, "step_3", data(t, "stepName", "add", "error", small))
			b.send(runID, world.EventStepCreated, "step_4", data(t, "stepName", "add", "input", small))
			hookID := "hook_" + string(end)
			b.send(runID, world.EventHookCreated, hookID, data(t, "token", "t", "metadata", big,
				"tokenRetentionUntil", b.clock.Now().Add(time.Hour).UnixMilli()))
			b.send(runID, world.EventHookReceived, hookID, data(t, "payload", big))
			before := b.events(runID)
			b.clock.Add(time.Second)
			last := map[world.EventType]world.Fields{
				world.EventRunCompleted: data(t, "output", small),
				world.EventRunFailed:    data(t, "error", small, "errorCode", "USER_ERROR"),
				world.EventRunCancelled: data(t, "cancelReason", "no need"),
			}
			req := b.request(runID, end, "", last[end])
			req.RequestID = "r"
			ended, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			again, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			require.Equal(t, ended.Run, again.Run)

			run, err := b.GetRun(b.ctx, runID, false)
			require.NoError(t, err)
			require.Equal(t, b.now(), run.ExpiredAt)
			require.Equal(t, run, *ended.Run)
			require.Equal(t, []world.Raw{nil, nil, nil}, []world.Raw{run.Input, run.Output, run.Error})
			require.Equal(t, map[string]string{"$retention": "0", "a": "1"}, storagetest.AttributesOf(t, &run))
			require.Equal(t, "wf", run.WorkflowName)
			// Late payloads are not kept either.
			b.send(runID, world.EventStepCompleted, "step_4", data(t, "stepName", "add", "result", big))
			b.send(runID, world.EventStepRetrying, "step_2", data(t, "stepName", "add", "error", small))
			page, err := b.ListSteps(b.ctx, world.StepQuery{RunID: runID})
			require.NoError(t, err)
			require.Len(t, page.Data, 4)
			for _, step := range page.Data {
				require.Equal(t, []world.Raw{nil, nil, nil}, []world.Raw{step.Input, step.Output, step.Error}, step.StepID)
				require.Equal(t, "add", step.StepName)
			}
			hook, err := b.GetHookByToken(b.ctx, "t", false)
			require.NoError(t, err)
			require.Nil(t, hook.Metadata)
			log := b.events(runID)
			require.Equal(t, types(before), types(log[:len(before)]))
			for i, e := range before {
				require.Equal(t, withoutPayload(e), log[i])
			}
			keys := b.keysLike(b.keys.prefix + "*{" + runID + "}*")
			require.NotEmpty(t, keys)
			for _, key := range keys {
				if kind := r.Client.Type(b.ctx, key).Val(); kind == "hash" {
					for field, value := range r.Client.HGetAll(b.ctx, key).Val() {
						require.NotContains(t, value, secret, "%s %s", key, field)
					}
				}
			}
			b.check(runID)
			b.clock.Add(time.Hour)
			b.sweep()
		}
	})
}

// Any other value keeps everything.
func TestOtherRetentions(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	for _, value := range []string{"default", "00", " 0", "-0", "1", ""} {
		runID := b.send("", world.EventRunCreated, "", append(b.runData(),
			data(t, "attributes", map[string]string{"$retention": value}, "allowReservedAttributes", true)...)).Run.RunID
		ended := b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		require.Zero(t, ended.Run.ExpiredAt, value)
		require.Equal(t, raw(t, []byte("out")), ended.Run.Output, value)
	}
}

package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// resume makes a hook_received with a resume id.
func (b *bundle) resume(runID, hookID, resumeID, digest string) world.CreateEvent {
	req := b.request(runID, world.EventHookReceived, hookID, data(b.t, "payload", []byte("p")))
	req.ResumeID, req.ResumePayloadDigest = resumeID, digest
	return req
}

// A resume id identifies one event of the run. It is looked up before all checks, so a redelivery after the end of the
// hook or run still gets that event.
func TestResumeIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		for _, id := range []string{"hook_1", "hook_2"} {
			b.send(runID, world.EventHookCreated, id, data(t, "token", id))
		}
		first, err := b.CreateEvent(b.ctx, b.resume(runID, "hook_1", "res_1", "d1"))
		require.NoError(t, err)
		require.Equal(t, "res_1", first.Event.ResumeID)
		other, err := b.CreateEvent(b.ctx, b.resume(runID, "hook_1", "res_2", ""))
		require.NoError(t, err)
		require.NotEqual(t, first.Event.EventID, other.Event.EventID)
		log := b.events(runID)
		require.Equal(t, "res_1", log[4].ResumeID)
		for _, step := range []func(){
			func() {},
			func() { b.send(runID, world.EventHookDisposed, "hook_1", nil) },
			func() { b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted)) },
		} {
			step()
			log = b.events(runID)
			for _, digest := range []string{"d1", ""} {
				again, err := b.CreateEvent(b.ctx, b.resume(runID, "hook_1", "res_1", digest))
				require.NoError(t, err)
				require.Equal(t, first, again)
			}
			again, err := b.CreateEvent(b.ctx, b.resume(runID, "hook_1", "res_2", "any"))
			require.NoError(t, err, "the first call named no digest")
			require.Equal(t, other, again)
			for name, req := range map[string]world.CreateEvent{
				"another payload": b.resume(runID, "hook_1", "res_1", "d2"), "another hook": b.resume(runID, "hook_2", "res_1", "d1"),
			} {
				_, err := b.CreateEvent(b.ctx, req)
				require.Equal(t, world.CodeConflict, world.ErrorCode(err), name)
			}
			require.Equal(t, log, b.events(runID))
		}
		_, err = b.CreateEvent(b.ctx, b.resume(runID, "hook_1", "res_3", "d1"))
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
	})
}

// Many concurrent deliveries of one resume create one event, and all get it.
func TestResumesRace(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0].on(t, 7)
	runID := b.running()
	b.send(runID, world.EventHookCreated, x, sample(b, world.EventHookCreated))
	for i := range 50 {
		results := make([]world.EventResult, 8)
		var calls []func() error
		for n := range results {
			on := all[n%2].on(t, 7)
			req := on.resume(runID, x, string(rune('A'+i)), "d")
			calls = append(calls, func() (err error) { results[n], err = on.CreateEvent(on.ctx, req); return err })
		}
		require.Equal(t, map[world.Code]int{"": 8}, codes(together(calls...)))
		for _, got := range results {
			require.Equal(t, results[0], got)
		}
		require.Len(t, b.events(runID), 4+i)
	}
	b.check(runID)
}

// With preloadEvents the answer contains the run and its whole log, which is all that is needed to continue it.
func TestReceiveWithPreload(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		b.send(runID, world.EventHookCreated, x, sample(b, world.EventHookCreated))
		b.noise(runID, 30)
		req := b.resume(runID, x, "res_1", "d")
		req.PreloadEvents = true
		for range 2 { // the second call finds the event
			got, err := b.CreateEvent(b.ctx, req)
			require.NoError(t, err)
			log := b.events(runID)
			require.Len(t, log, 34)
			require.Equal(t, log, got.Events)
			require.Equal(t, b.cursorAt(runID, len(log)), got.Cursor)
			require.False(t, got.HasMore)
			require.Equal(t, world.RunRunning, got.Run.Status)
			require.NotZero(t, got.Run.StartedAt)
			require.Equal(t, raw(t, []byte("in")), got.Run.Input)
			require.Equal(t, 25_000, got.MaxEvents)
		}
		// A run that has not started has nothing to continue.
		pending := b.newRun()
		b.send(pending, world.EventHookCreated, "hook_p", data(t, "token", "p"))
		req = b.resume(pending, "hook_p", "res_1", "d")
		req.PreloadEvents = true
		got, err := b.CreateEvent(b.ctx, req)
		require.NoError(t, err)
		require.Equal(t, world.EventResult{Event: got.Event}, got)
	})
}

// The lookup by token returns what a resume needs to know about the run, as far as the run has it.
func TestResumeContext(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	carrier := map[string]string{"traceparent": "00-1"}
	runID := b.send("", world.EventRunCreated, "", data(t, "deploymentId", "dpl", "workflowName", "wf", "input", []byte{1}, "encryptionPublicKey", "key=",
		"executionContext", map[string]any{"workflowCoreVersion": "5.0.0", "hookResumeInputVersion": 1.0, "traceCarrier": carrier, "features": []int{1}})).Run.RunID
	b.send(runID, world.EventHookCreated, x, data(t, "token", "tok"))
	got, err := b.GetHookByToken(b.ctx, "tok", true)
	require.NoError(t, err)
	require.Equal(t, &world.HookResume{
		DeploymentID: "dpl", WorkflowName: "wf", RunSpecVersion: 7, WorkflowCoreVersion: "5.0.0", TraceCarrier: raw(t, carrier),
		EncryptionPublicKey: "key=", InputVersion: 1, DedupVersion: 1,
	}, got.Resume)
	odd := b.send("", world.EventRunCreated, "", data(t, "deploymentId", "dpl", "workflowName", "wf", "input", []byte{1},
		"executionContext", map[string]any{"workflowCoreVersion": 5, "hookResumeInputVersion": "x", "traceCarrier": []string{"y"}})).Run.RunID
	b.send(odd, world.EventHookCreated, "x_2", data(t, "token", "odd"))
	got, err = b.GetHookByToken(b.ctx, "odd", true)
	require.NoError(t, err)
	require.Equal(t, &world.HookResume{DeploymentID: "dpl", WorkflowName: "wf", RunSpecVersion: 7, DedupVersion: 1}, got.Resume)
}

// From spec 4 on, errors are returned as the SDK sent them; the code is a separate field.
func TestErrorsComeBackVerbatim(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	for _, sent := range []any{[]byte("devl..."), []byte{}, "text", map[string]any{"message": "m"}, 7} {
		runID := b.running()
		b.send(runID, firstStart, x, sample(b, firstStart))
		verbatim := raw(t, sent)
		retried := b.send(runID, world.EventStepRetrying, x, data(t, "error", verbatim))
		require.Equal(t, verbatim, retried.Step.Error)
		failed := b.send(runID, world.EventStepFailed, x, data(t, "error", verbatim))
		require.Equal(t, verbatim, failed.Step.Error)
		ended := b.send(runID, world.EventRunFailed, "", data(t, "error", verbatim, "errorCode", "USER_ERROR"))
		require.Equal(t, verbatim, ended.Run.Error)
		require.Equal(t, "USER_ERROR", ended.Run.ErrorCode)
	}
	runID := b.running()
	cancelled := b.send(runID, world.EventRunCancelled, "", data(t, "cancelReason", "no need"))
	require.Equal(t, data(t, "cancelReason", "no need"), cancelled.Event.Data)
	require.Equal(t, cancelled.Event.Data, b.events(runID)[2].Data)
}

// An event that fills a gap in a sealed log can be read.
func TestNoopIsReadable(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	c := b.newCall(b.request(runID, world.EventNoop, "", data(t, "sealed", true)))
	_, err := b.apply(b.ctx, c, b.scripts.legacyAppend, nil, "0")
	if err == nil {
		log := b.events(runID)
		require.Equal(t, world.EventNoop, log[2].Type)
		require.Equal(t, data(t, "sealed", true), log[2].Data)
	} else {
		encoded, _, encodeErr := record.Encode(c.event)
		require.NoError(t, encodeErr)
		e, decodeErr := record.Decode(runID, 2, "1800000000000"+string(encoded), nil)
		require.NoError(t, decodeErr)
		require.Equal(t, world.EventNoop, e.Type)
		require.Equal(t, data(t, "sealed", true), e.Data)
	}
}

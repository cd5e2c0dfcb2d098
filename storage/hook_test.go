package storage

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// If another hook holds the token, the answer is a conflict event and no hook. A repeated request gets the same event,
// even when the token is free by then: the log has the conflict.
func TestConflictIsRecordedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runA, runB := b.running(), b.running()
		token := data(t, "token", "tok", "metadata", []byte("m"))
		b.send(runA, world.EventHookCreated, "hook_a", token)
		for _, c := range []struct{ runID, hookID string }{{runB, "hook_b"}, {runA, "hook_c"}} {
			first := b.send(c.runID, world.EventHookCreated, c.hookID, token)
			require.Nil(t, first.Hook)
			require.Equal(t, world.EventHookConflict, first.Event.Type)
			require.Equal(t, c.hookID, first.Event.CorrelationID)
			require.Equal(t, data(t, "token", "tok", "conflictingRunId", runA), first.Event.Data)
			require.Equal(t, first, b.send(c.runID, world.EventHookCreated, c.hookID, token))
		}
		b.check(runA, runB)
		_, err := b.GetHook(b.ctx, "hook_b", false)
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		b.send(runA, world.EventHookDisposed, "hook_a", nil)
		require.Equal(t, world.EventHookConflict, b.send(runB, world.EventHookCreated, "hook_b", token).Event.Type)
		require.Equal(t, world.EventHookCreated, b.send(runB, world.EventHookCreated, "hook_d", token).Event.Type)
		b.check(runA, runB)
	})
}

// The answer of hook_created is the hook, and every read returns the same.
func TestHookReads(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	b.clock.Add(time.Second)
	hook := b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "tok", "metadata", []byte("m"), "isWebhook", true)).Hook
	require.Equal(t, world.Hook{
		RunID: runID, HookID: "hook_1", Token: "tok", OwnerID: "default", ProjectID: "default", Environment: "default",
		Metadata: raw(t, []byte("m")), IsWebhook: true, SpecVersion: 3, CreatedAt: b.now(),
	}, *hook)
	plain := *hook
	plain.Metadata = nil
	for none, want := range map[bool]world.Hook{false: *hook, true: plain} {
		got, err := b.GetHook(b.ctx, "hook_1", none)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = b.GetHookByToken(b.ctx, "tok", none)
		require.NoError(t, err)
		require.Equal(t, &world.HookResume{
			DeploymentID: "dpl_1", WorkflowName: "wf", RunSpecVersion: 3, WorkflowCoreVersion: "4.8.9", DedupVersion: 1,
		}, got.Resume)
		got.Resume = nil
		require.Equal(t, want, got)
		for _, of := range []string{"", runID} {
			page, err := b.ListHooks(b.ctx, world.HookQuery{RunID: of, ResolveNone: none})
			require.NoError(t, err)
			require.Equal(t, []world.Hook{want}, page.Data)
		}
	}
	require.False(t, b.send(runID, world.EventHookCreated, "hook_2", data(t, "token", "tok2")).Hook.IsWebhook)
}

// An SDK creates the hooks of a suspension concurrently, so the calls arrive in any order. The list of a run's hooks
// has the order of their ids, which is that of the workflow.
func TestHooksOfARunAreListedInTheOrderOfTheWorkflow(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	ids := []string{"hook_01J0000000000000000000000A", "hook_01J0000000000000000000000B", "hook_01J0000000000000000000000C"}
	for _, i := range []int{2, 0, 1} {
		b.clock.Add(time.Second)
		b.send(runID, world.EventHookCreated, ids[i], data(t, "token", ids[i]))
	}
	var listed []string
	var cursor string
	for range ids {
		page, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID, Page: world.PageRequest{Limit: 1, Cursor: cursor}})
		require.NoError(t, err)
		require.Len(t, page.Data, 1)
		listed, cursor = append(listed, page.Data[0].HookID), page.Cursor
	}
	require.Equal(t, ids, listed)
}

// BR-07: a resume id identifies one event. A repeated resume gets that event, whatever has happened to the hook;
// another payload or hook with the same id is refused.
func TestBR07ResumeID(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.running()
		b.send(runID, world.EventHookCreated, "hook_1", data(t, "token", "t1"))
		b.send(runID, world.EventHookCreated, "hook_2", data(t, "token", "t2"))
		resume := func(hookID, resumeID, digest string) (world.EventResult, error) {
			return b.CreateEvent(b.ctx, world.CreateEvent{
				RunID: runID, Type: world.EventHookReceived, CorrelationID: hookID, SpecVersion: 7, ResumeID: resumeID,
				ResumePayloadDigest: digest, Data: data(t, "payload", []byte(digest)),
			})
		}
		first, err := resume("hook_1", "r1", "d1")
		require.NoError(t, err)
		require.Equal(t, "r1", first.Event.ResumeID)
		for _, digest := range []string{"d1", ""} {
			again, err := resume("hook_1", "r1", digest)
			require.NoError(t, err)
			require.Equal(t, first.Event, again.Event)
		}
		_, err = resume("hook_1", "r1", "d2")
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		_, err = resume("hook_2", "r1", "d1")
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		_, err = resume("hook_1", "r2", "d1")
		require.NoError(t, err)
		require.Len(t, b.events(runID), 6)
		b.send(runID, world.EventRunCompleted, "", nil)
		again, err := resume("hook_1", "r1", "d1")
		require.NoError(t, err)
		require.Equal(t, first.Event, again.Event)
		_, err = resume("hook_1", "r3", "d1")
		require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
		b.check(runID)
	})
}

// BR-07: fifty concurrent resumes of one hook are fifty events, none lost and none duplicated.
func TestBR07FiftyResumes(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	b.send(runID, world.EventHookCreated, x, sample(b, world.EventHookCreated))
	calls := make([]func() error, 50)
	for i := range calls {
		payload := data(t, "payload", []byte{byte(i)})
		calls[i] = func() error { _, err := b.try(runID, world.EventHookReceived, x, payload); return err }
	}
	require.Equal(t, map[world.Code]int{"": 50}, codes(together(calls...)))
	seen := map[string]bool{}
	for _, e := range b.events(runID)[3:] {
		seen[string(e.Data.Get("payload"))] = true
	}
	require.Len(t, seen, 50)
	b.check(runID)
}

// BR-07: fifty consecutive resumes are in the log in that order.
func TestBR07ResumesInOrder(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.running()
	b.send(runID, world.EventHookCreated, x, sample(b, world.EventHookCreated))
	for i := range 50 {
		b.send(runID, world.EventHookReceived, x, data(t, "payload", []byte{byte(i)}))
	}
	for i, e := range b.events(runID)[3:] {
		require.Equal(t, raw(t, []byte{byte(i)}), e.Data.Get("payload"))
	}
	b.check(runID)
}

// BR-07: the answer to a resume is lost, and only the caller itself tries again, with another request id. It gets the
// event of the first try, and there is one event.
func TestBR07LostAnswer(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	b := newBundle(t, r).on(t, 7)
	p := newProxy(t, r.Addr)
	client := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	flaky, err := New(t.Context(), client, Config{Prefix: r.Prefix, Clock: b.clock})
	require.NoError(t, err)
	runID := b.running()
	b.send(runID, world.EventHookCreated, x, sample(b, world.EventHookCreated))
	req := b.request(runID, world.EventHookReceived, x, sample(b, world.EventHookReceived))
	req.ResumeID, req.ResumePayloadDigest, req.RequestID = "resume_1", "d1", "first"
	p.armed.Store(true)
	_, err = flaky.CreateEvent(b.ctx, req)
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
	require.Equal(t, int64(1), p.swallows.Load())
	req.RequestID = "second"
	again, err := flaky.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	log := b.events(runID)
	require.Len(t, log, 4)
	require.Equal(t, log[3], *again.Event)
	b.check(runID)
}

// BR-12: a run is cancelled before it has started, while it sleeps, or while it waits for a hook: none of its work
// continues, its waits and hooks are gone, and a second cancel changes nothing.
func TestBR12NothingGoesOnAfterCancel(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b := newBundle(t, r).on(t, spec)
			for _, parked := range []world.EventType{"", world.EventWaitCreated, world.EventHookCreated} {
				runID := b.newRun()
				if parked != "" {
					b.send(runID, world.EventRunStarted, "", nil)
					b.send(runID, parked, x, sample(b, parked))
				}
				b.send(runID, world.EventRunCancelled, "", nil)
				for kind, want := range map[world.EventType]world.Code{
					world.EventRunStarted: world.CodeRunExpired, world.EventStepCreated: world.CodeConflict,
					world.EventWaitCreated: world.CodeConflict, world.EventHookCreated: world.CodeConflict,
					world.EventRunCompleted: world.CodeConflict, world.EventRunFailed: world.CodeConflict,
					world.EventWaitCompleted: world.CodeWaitNotFound, world.EventHookReceived: world.CodeHookNotFound,
				} {
					id := storagetest.CorrelationOf(kind)
					if strings.HasSuffix(string(kind), "_created") {
						id = "late_1"
					}
					_, err := b.try(runID, kind, id, sample(b, kind))
					require.Equal(t, want, world.ErrorCode(err), "%s after the cancel of a run parked on %q", kind, parked)
				}
				again := b.send(runID, world.EventRunCancelled, "", nil)
				require.Equal(t, world.RunCancelled, again.Run.Status)
				_, err := b.GetHookByToken(b.ctx, record.TextField(sample(b, world.EventHookCreated), "token"), false)
				require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
				b.check(runID)
			}
		}
	})
}

// BR-12: a cancelled run stays cancelled, whatever arrives late.
func TestBR12CancelledStaysCancelled(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for _, late := range []world.EventType{world.EventStepCompleted, world.EventStepFailed, world.EventStepRetrying} {
		runID := b.running()
		b.send(runID, world.EventStepCreated, x, sample(b, world.EventStepCreated))
		b.send(runID, world.EventStepStarted, x, nil)
		b.send(runID, world.EventRunCancelled, "", data(t, "cancelReason", "why"))
		b.send(runID, late, x, sample(b, late))
		again := b.send(runID, world.EventRunCancelled, "", nil)
		require.Equal(t, world.RunCancelled, again.Run.Status)
		_, err := b.try(runID, world.EventRunStarted, "", b.runData())
		require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
		b.check(runID)
	}
}

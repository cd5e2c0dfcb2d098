package archived_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// late is an event that comes after the end of a run, and how it is answered if Redis accepts it: a step that was running may end
// after its run, which in the archive nothing does any more.
type late struct {
	kind     world.EventType
	entity   string // the prefix and the suffix of its id
	data     map[string]any
	accepted world.Code
}

func lateEvents() []late {
	out := []late{
		{kind: world.EventRunCreated, data: map[string]any{"deploymentId": "d", "workflowName": "wf", "input": []byte("i")}},
		{kind: world.EventRunStarted},
		{kind: world.EventRunStarted, data: map[string]any{"deploymentId": "d", "workflowName": "wf", "input": []byte("i")}},
		{kind: world.EventRunCompleted, data: map[string]any{"output": []byte("o")}},
		{kind: world.EventRunFailed, data: map[string]any{"error": "e"}},
		{kind: world.EventRunCancelled},
		{kind: world.EventWaitCreated, entity: "wait_-new", data: map[string]any{"resumeAt": 1}},
		{kind: world.EventWaitCompleted, entity: "wait_"},
		{kind: world.EventWaitCompleted, entity: "wait_-open"},
		{kind: world.EventWaitCompleted, entity: "wait_-none"},
		{kind: world.EventHookCreated, entity: "hook_-new", data: map[string]any{"token": "new"}},
		{kind: world.EventHookReceived, entity: "hook_", data: map[string]any{"payload": []byte("p")}},
		{kind: world.EventHookDisposed, entity: "hook_"},
	}
	for i, step := range []string{"-0", "-1", "-2", "-3", "-none"} { // pending, running, completed, failed
		out = append(
			out,
			late{world.EventStepStarted, "step_" + step, nil, world.CodeRunExpired},
			late{world.EventStepCompleted, "step_" + step, map[string]any{"result": []byte("r")}, world.CodeRunExpired},
			late{world.EventStepFailed, "step_" + step, map[string]any{"error": "e"}, world.CodeRunExpired},
			late{world.EventStepRetrying, "step_" + step, map[string]any{"error": "e"}, world.CodeRunExpired},
		)
		if i == 4 {
			out = append(out, late{kind: world.EventStepCreated, entity: "step_" + step, data: map[string]any{"stepName": "s", "input": []byte("i")}})
		}
	}
	return out
}

// A late event on an archived run is answered as for a run that has ended, and writes nothing.
func TestLateEvents(t *testing.T) {
	t.Parallel()
	for end, specs := range endings {
		for _, spec := range specs {
			t.Run(fmt.Sprint(spec, end), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				moved := w.ended(spec, end)
				w.move(moved)
				before := w.log(moved)
				stays := w.ended(spec, end)
				for _, e := range lateEvents() {
					if e.kind == world.EventWaitCreated && spec < 3 {
						continue
					}
					want, wanted := w.late(spec, stays, e)
					got, err := w.late(spec, moved, e)
					what := fmt.Sprint(e.kind, " ", e.entity, ": ", wanted)
					if wanted == nil && e.accepted != "" {
						require.Equal(t, e.accepted, world.ErrorCode(err), what)
					} else {
						require.Equal(t, plain(wanted, stays), plain(err, moved), what)
					}
					if wanted == nil { // it has changed the run
						stays = w.ended(spec, end)
					}
					if err == nil { // a run that is cancelled again
						require.Equal(t, want.Event.Type, got.Event.Type)
						require.Equal(t, want.Run.Status, got.Run.Status)
						require.Equal(t, want.MaxEvents, got.MaxEvents)
					}
					_, err = w.redis.GetRun(t.Context(), moved, true)
					require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err), "it must not come back")
				}
				require.Equal(t, before, w.log(moved))
			})
		}
	}
}

// log is all events of a run.
func (w *testWorld) log(runID string) []world.Event {
	w.t.Helper()
	page, err := w.store.ListEvents(w.t.Context(), world.EventQuery{RunID: runID})
	require.NoError(w.t, err)
	require.NotEmpty(w.t, page.Data)
	return page.Data
}

func (w *testWorld) late(spec int, runID string, e late) (world.EventResult, error) {
	entity := ""
	if e.entity != "" {
		prefix, suffix, _ := strings.Cut(e.entity, "_")
		entity = prefix + "_" + runID[5:] + suffix
	}
	return w.store.CreateEvent(w.t.Context(), w.request(spec, runID, e.kind, entity, e.data))
}

// plain is an error as the API shows it, without the id of the run.
func plain(err error, runID string) string {
	var e *world.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return strings.ReplaceAll(fmt.Sprint(e.Code, " ", e.Message, " ", e.RunID, " ", e.RetryAfter), runID[5:], "ID")
}

// A batch on an archived run is answered event by event.
func TestLateBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moved := w.ended(7, world.EventRunCompleted)
	w.move(moved)
	stays := w.ended(7, world.EventRunCompleted)
	answer := func(runID string) (out []string) {
		step := func(kind world.EventType, n int, data map[string]any) world.CreateEvent {
			return w.request(7, runID, kind, fmt.Sprintf("step_%s-%d", runID[5:], n), data)
		}
		items, err := w.store.CreateBatch(t.Context(), world.CreateBatch{RunID: runID, Events: []world.CreateEvent{
			step(world.EventStepCreated, 7, map[string]any{"stepName": "s", "input": []byte("i")}), step(world.EventStepStarted, 0, nil), step(world.EventStepCompleted, 2, map[string]any{"result": 1}),
			w.request(7, runID, world.EventRunCompleted, "", map[string]any{"output": 1}),
		}})
		require.NoError(t, err)
		for _, item := range items {
			out = append(out, plain(item.Err, runID))
		}
		return out
	}
	require.Equal(t, answer(stays), answer(moved))
}

// Archived runs are reported as ended by a call that cancels many, and their streams take no more.
func TestLateCallsOfOtherKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	completed, cancelled := w.ended(7, world.EventRunCompleted), w.ended(7, world.EventRunCancelled)
	w.move(completed)
	w.move(cancelled)
	got, err := w.store.CancelRuns(t.Context(), world.CancelRuns{RunIDs: []string{completed, cancelled, "wrun_none", "?"}})
	require.NoError(t, err)
	require.Equal(t, []world.CancelResult{
		{RunID: completed, Outcome: world.NotCancellable, Status: world.RunCompleted},
		{RunID: cancelled, Outcome: world.AlreadyCancelled},
		{RunID: "wrun_none", Outcome: world.CancelNotFound},
		{RunID: "?", Outcome: world.CancelNotFound},
	}, got)
	for _, name := range []string{streamOf(completed, 0), streamOf(completed, 9)} {
		_, err = w.streams.AppendChunks(t.Context(), world.Append{Name: name, RunID: completed, Chunks: [][]byte{[]byte("late")}})
		require.Equal(t, world.CodeStreamClosed, world.ErrorCode(err))
		require.NoError(t, w.streams.CloseStream(t.Context(), world.StreamClose{Name: name, RunID: completed}))
	}
	_, err = w.store.CreateLegacyStep(t.Context(), world.CreateLegacyStep{RunID: completed, StepID: "step_x", StepName: "s", Input: encode(t, 1)})
	require.Equal(t, world.CodeRunExpired, world.ErrorCode(err))
	_, err = w.store.UpdateLegacyRun(t.Context(), world.UpdateLegacyRun{RunID: completed, Status: world.RunRunning})
	require.Equal(t, world.CodeConflict, world.ErrorCode(err))
}

// broken is an archive that does not answer.
type broken struct{ world.Archive }

var errBroken = errors.New("the archive is down")

func (broken) GetRuns(context.Context, []string, bool) ([]*world.Run, error) { return nil, errBroken }

func (broken) ListRuns(context.Context, world.ArchivedRuns) ([]world.Run, bool, error) {
	return nil, false, errBroken
}

func (broken) FindStep(context.Context, string) (string, error) { return "", errBroken }

func (broken) FindStream(context.Context, string) (string, error) { return "", errBroken }

// While the archive is down, what Redis has is served, and what it does not have is unavailable: nobody is told that it does not exist.
func TestAnArchiveThatIsDown(t *testing.T) {
	t.Parallel()
	w := worldWith(t, broken{})
	ctx := t.Context()
	runID, none := w.ended(7, world.EventRunCompleted), w.newID()
	_, err := w.store.GetRun(ctx, runID, false)
	require.NoError(t, err)
	_, err = w.store.ListEvents(ctx, world.EventQuery{RunID: runID})
	require.NoError(t, err)
	_, err = w.store.GetStep(ctx, runID, "step_"+runID[5:]+"-1", false)
	require.NoError(t, err)
	_, err = w.store.GetStep(ctx, runID, "step_none", false) // Redis has the run, so it has all of its steps
	require.Equal(t, world.CodeStepNotFound, world.ErrorCode(err))
	info, err := w.streams.StreamInfo(ctx, streamOf(runID, 0), 0)
	require.NoError(t, err)
	require.Equal(t, int64(3), info.Count)

	calls := map[string]func() error{
		"GetRun":       func() error { _, err := w.store.GetRun(ctx, none, false); return err },
		"AwaitRun":     func() error { _, err := w.store.AwaitRun(ctx, none, 0, false); return err },
		"GetRuns":      func() error { _, err := w.store.GetRuns(ctx, []string{runID, none}, false); return err },
		"ListRuns":     func() error { _, err := w.store.ListRuns(ctx, world.RunQuery{}); return err },
		"GetStep":      func() error { _, err := w.store.GetStep(ctx, none, "step_1", false); return err },
		"GetStep only": func() error { _, err := w.store.GetStep(ctx, "", "step_1", false); return err },
		"ListSteps":    func() error { _, err := w.store.ListSteps(ctx, world.StepQuery{RunID: none}); return err },
		"GetEvent": func() error {
			_, err := w.store.GetEvent(ctx, none, "evnt_00000000000000000000000001", false)
			return err
		},
		"ListEvents": func() error { _, err := w.store.ListEvents(ctx, world.EventQuery{RunID: none}); return err },
		"CreateEvent": func() error {
			_, err := w.late(7, none, late{kind: world.EventRunCompleted, data: map[string]any{"output": 1}})
			return err
		},
		"StreamInfo":  func() error { _, err := w.streams.StreamInfo(ctx, streamOf(none, 0), 0); return err },
		"ReadStream":  func() error { return w.streams.ReadStream(ctx, streamOf(none, 0), 0, nil) },
		"ListStreams": func() error { _, err := w.streams.ListStreams(ctx, none, world.PageRequest{}); return err },
	}
	for name, call := range calls {
		err := call()
		require.Equal(t, world.CodeUnavailable, world.ErrorCode(err), "%s: %v", name, err)
		require.ErrorIs(t, err, errBroken)
	}
	results, err := w.store.CancelRuns(ctx, world.CancelRuns{RunIDs: []string{none}})
	require.NoError(t, err)
	require.Equal(t, []world.CancelResult{{RunID: none, Outcome: world.CancelFailed, Code: world.CodeUnavailable, Retryable: true}}, results)
}

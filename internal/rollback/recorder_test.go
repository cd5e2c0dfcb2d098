package rollback

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage"
)

// Starts, resumes and ends are remembered in each of their forms; other calls are not, and neither are refused ones.
func TestStartsAndResumesAreRemembered(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	store, err := storage.New(t.Context(), r.Client, storage.Config{Prefix: r.Prefix})
	require.NoError(t, err)
	ledger := &Ledger{}
	p := &pair{t: t, Store: &Recorder{Store: store, Ledger: ledger}, minter: ids.NewMinter(world.SystemClock{})}

	first, second, hookID := p.begin(), p.minter.Prefixed("wrun_"), p.minter.Prefixed("hook_")
	require.Eventually(t, func() bool { return world.MillisOf(time.Now()) > first.CreatedAt }, patience, tick) // or it could be the call that creates the run
	p.event(first.RunID, world.EventRunStarted, "", start)
	early := p.event(second, world.EventRunStarted, "", start).Run // before its run_created
	p.event(first.RunID, world.EventHookCreated, hookID, map[string]any{"token": "t"})
	received := p.receive(first.RunID, hookID, "x")
	old, err := p.CreateLegacyRun(t.Context(), world.CreateLegacyRun{DeploymentID: "d", WorkflowName: "old", Input: world.Raw{0x80}})
	require.NoError(t, err)
	_, err = p.CreateEvent(t.Context(), world.CreateEvent{RunID: first.RunID, Type: world.EventHookReceived, CorrelationID: p.minter.Prefixed("hook_"), SpecVersion: 7})
	require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))
	cancelled := p.event(first.RunID, world.EventRunCancelled, "", nil).Event
	items, err := p.CreateBatch(t.Context(), world.CreateBatch{RunID: second, Events: []world.CreateEvent{
		{Type: world.EventStepCompleted, CorrelationID: p.minter.Prefixed("step_"), SpecVersion: 7}, // refused
		{Type: world.EventRunCompleted, SpecVersion: 7},
	}})
	require.NoError(t, err)
	require.NotNil(t, items[0].Err)
	require.Nil(t, items[1].Err)
	third := p.begin()
	before := world.MillisOf(time.Now())
	results, err := p.CancelRuns(t.Context(), world.CancelRuns{RunIDs: []string{second, third.RunID}})
	require.NoError(t, err)
	require.Equal(t, world.Cancelled, results[1].Outcome)

	var calls []world.AnsweredCall
	for _, e := range ledger.after(0, ledger.next(), 100) {
		calls = append(calls, e.call)
	}
	require.Equal(t, []world.AnsweredCall{
		{Kind: world.AnsweredStart, At: first.CreatedAt, RunID: first.RunID, WorkflowName: "wf"},
		{Kind: world.AnsweredStart, At: early.CreatedAt, RunID: second, WorkflowName: "wf"},
		{Kind: world.AnsweredResume, At: received.CreatedAt, RunID: first.RunID, EventID: received.EventID, HookID: hookID, Token: "token of " + hookID},
		{Kind: world.AnsweredStart, At: old.CreatedAt, RunID: old.RunID, WorkflowName: "old"},
		{Kind: world.AnsweredEnd, At: cancelled.CreatedAt, RunID: first.RunID},
		{Kind: world.AnsweredEnd, At: items[1].Result.Event.CreatedAt, RunID: second},
		{Kind: world.AnsweredStart, At: third.CreatedAt, RunID: third.RunID, WorkflowName: "wf"},
		{Kind: world.AnsweredEnd, At: max(before, calls[len(calls)-1].At), RunID: third.RunID},
	}, calls)
}

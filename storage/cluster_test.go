package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A cluster of three masters: every script finds all its keys on one node, data in other slots is kept consistent, and
// a sweep mends there, too.
func TestCluster(t *testing.T) {
	t.Parallel()
	r := redistest.NewCluster(t)
	b := newBundle(t, r)
	var runs []string
	for i := range 12 {
		runID := b.running()
		runs = append(runs, runID)
		scene(func(*bundle) string { return runID }).then(world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying,
			world.EventStepStarted, world.EventStepCompleted)(b)
		b.send(runID, world.EventWaitCreated, "wait_1", sample(b, world.EventWaitCreated))
		b.send(runID, world.EventWaitCompleted, "wait_1", sample(b, world.EventWaitCompleted))
		hookID := fmt.Sprintf("hook_%d", i)
		got := b.send(runID, world.EventHookCreated, hookID, data(t, "token", fmt.Sprintf("t%d", i/2)))
		require.Equal(t, i%2 == 1, got.Event.Type == world.EventHookConflict)
		if i%2 == 0 {
			b.send(runID, world.EventHookReceived, hookID, sample(b, world.EventHookReceived))
		}
	}
	for i, runID := range runs {
		log := b.events(runID)
		require.Equal(t, log, b.send(runID, world.EventRunStarted, "", nil).Events)
		hooks, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID})
		require.NoError(t, err)
		require.Len(t, hooks.Data, 1-i%2)
	}
	all, err := b.ListHooks(b.ctx, world.HookQuery{})
	require.NoError(t, err)
	require.Len(t, all.Data, 6)
	ends := []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled}
	for i, runID := range runs {
		b.send(runID, ends[i%3], "", sample(b, ends[i%3]))
	}
	for _, status := range []world.RunStatus{world.RunCompleted, world.RunFailed, world.RunCancelled} {
		page, err := b.ListRuns(b.ctx, world.RunQuery{WorkflowName: "wf", Statuses: []world.RunStatus{status}})
		require.NoError(t, err)
		require.Len(t, page.Data, 4)
	}
	b.caller().Check(runs...)
	require.Equal(t, int64(6), r.Client.ZCard(b.ctx, b.keys.hooksIndex()).Val(), "entries of the refused hooks, left to the sweeper")
	b.clock.Add(2 * time.Minute)
	require.Zero(t, b.sweep(), "nothing crashed")
	require.Zero(t, r.Client.ZCard(b.ctx, b.keys.hooksIndex()).Val())
	require.Zero(t, b.sweep())
}

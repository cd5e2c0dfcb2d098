package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A caller that holds a cursor gets with its answer all that came after it, its own event
// last; one that says how many slots it knows gets what came in between, if anything did.
func TestDelta(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	runID := b.runOf(7)
	var cursor string
	log := func() []world.Event {
		page, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID})
		require.NoError(t, err)
		cursor = page.Cursor
		return page.Data
	}
	count := func(n int64) *int64 { return &n }
	create := func(req world.CreateEvent) world.EventResult {
		req.RunID, req.SpecVersion = runID, 7
		result, err := b.CreateEvent(b.ctx, req)
		require.NoError(t, err)
		return result
	}
	known := log()
	hook := func(id string) world.CreateEvent {
		return world.CreateEvent{Type: world.EventHookCreated, CorrelationID: id, Data: data(t, "token", id, "metadata", []byte{1})}
	}

	req := hook("hook_1")
	req.SinceCursor = cursor
	alone := create(req)
	require.Equal(t, []world.Event{*alone.Event}, alone.Events)
	require.False(t, alone.HasMore)
	rest, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: alone.Cursor}})
	require.NoError(t, err)
	require.Empty(t, rest.Data)

	b.send(runID, world.EventHookReceived, "hook_1", sample(b, world.EventHookReceived))
	req = hook("hook_2")
	req.SinceCursor, req.EventCount = cursor, count(2) // of the log as it was at first; the cursor wins
	behind := create(req)
	all := log()
	require.Equal(t, all[len(known):], behind.Events)
	require.Equal(t, cursor, behind.Cursor)

	req = hook("hook_3")
	req.EventCount = count(5)
	require.Nil(t, create(req).Events, "nobody wrote in between")
	req = hook("hook_4")
	req.EventCount = count(3)
	report := create(req)
	require.Equal(t, log()[3:6], report.Events)
	require.Empty(t, report.Cursor)
	require.False(t, report.HasMore)
	req = hook("hook_5")
	req.EventCount, req.ResolveNone = count(6), true
	report = create(req)
	require.Len(t, report.Events, 1)
	require.False(t, report.Events[0].Data.Has("metadata"))

	log()
	lazy := create(world.CreateEvent{
		Type: world.EventStepStarted, CorrelationID: x, SinceCursor: cursor, Data: data(t, "stepName", "s", "input", []byte{1}),
	})
	require.Equal(t, []world.EventType{world.EventStepCreated, world.EventStepStarted}, types(lazy.Events))

	for _, bad := range []world.CreateEvent{{SinceCursor: "garbage"}, {EventCount: count(0)}, {EventCount: count(-1)}, {EventCount: count(1 << 40)}} {
		bad.Type, bad.CorrelationID, bad.Data = world.EventStepStarted, x, nil
		require.Nil(t, create(bad).Events)
	}
	conflict := hook("hook_6")
	conflict.Data, conflict.SinceCursor = data(t, "token", "hook_1"), cursor
	require.NotEmpty(t, create(conflict).Events)

	// A run of an older spec has no slots to count.
	old := b.running()
	b.send(old, world.EventHookCreated, "hook_old", data(t, "token", "old"))
	result, err := b.CreateEvent(b.ctx, world.CreateEvent{
		RunID: old, Type: world.EventHookReceived, CorrelationID: "hook_old", SpecVersion: 3, EventCount: count(1),
	})
	require.NoError(t, err)
	require.Nil(t, result.Events)
	b.check(runID)
}

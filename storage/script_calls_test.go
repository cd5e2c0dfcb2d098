package storage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// No read of a run with thousands of events with separate payloads makes more than 2,000 calls in a script.
func TestReadsOfALargeRunAreShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := newBundle(t, &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "reads:"}).on(t, 7)
	runID := b.running()
	e := world.Event{Type: world.EventHookReceived, CorrelationID: "hook_planted", Data: data(t, "payload", strings.Repeat("x", record.SplitAbove+1))}
	apart, payload, err := record.Encode(e)
	require.NoError(t, err)
	k := b.keys.of(runID)
	keys := []string{k.run(), k.events(), k.related(), k.hooks(), k.hooksOrder()}
	grow := func(n int) {
		require.NoError(t, plant.Run(b.ctx, b.redis.Client, keys, n, apart, apart, payload, 0, 0, "", 1).Err())
	}
	grow(preloadEvents - 2) // the longest log that goes along with a start
	monitor := redistest.NewMonitor(t, server.Addr)
	check := func(what string) {
		work := monitor.Since()
		require.Positive(t, work.Scripts, what)
		require.LessOrEqual(t, work.Calls, mostCalls, what)
	}
	started := b.send(runID, world.EventRunStarted, "", nil)
	require.False(t, started.HasMore)
	require.Len(t, started.Events, preloadEvents)
	check("start")
	monitor.Close()
	grow(4000)
	monitor = redistest.NewMonitor(t, server.Addr)
	events := b.events(runID)
	require.Len(t, events, preloadEvents+4000)
	check("list")
	related, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, CorrelationID: "hook_planted", Page: world.PageRequest{Limit: 1000}})
	require.NoError(t, err)
	require.Equal(t, events[2:1002], related.Data)
	check("related")
	req := b.request(runID, world.EventWaitCreated, "wait_1", sample(b, world.EventWaitCreated))
	req.SinceCursor = paging.EventCursor(paging.EventScope(runID, ""), 1)
	news, err := b.CreateEvent(b.ctx, req)
	require.NoError(t, err)
	require.True(t, news.HasMore, "the rest can be listed")
	require.Equal(t, events[2:2+len(news.Events)], news.Events)
	next, err := b.ListEvents(b.ctx, world.EventQuery{RunID: runID, Page: world.PageRequest{Cursor: news.Cursor, Limit: 1}})
	require.NoError(t, err)
	require.Equal(t, events[2+len(news.Events)], next.Data[0])
	check("news")
}

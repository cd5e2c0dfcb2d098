package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

// plantServer writes what a replica of an older build writes: an entry in asynq's list of servers, and nothing else. Each is a
// server of asynq as those of this process are.
func plantServer(t *testing.T, client *redis.Client, name string, queues func(info string) string) (key string) {
	t.Helper()
	own := client.ZRange(t.Context(), "asynq:servers", -1, -1).Val()
	require.Len(t, own, 1)
	key = "asynq:servers:{" + name + "}"
	require.NoError(t, client.ZAdd(t.Context(), "asynq:servers", redis.Z{Score: float64(time.Now().Add(time.Minute).Unix()), Member: key}).Err())
	require.NoError(t, client.Set(t.Context(), key, queues(client.Get(t.Context(), own[0]).Val()), time.Minute).Err())
	return key
}

// While a replica of an older build is alive, no run is removed, and the answer says why; other installations do not count.
func TestNoRunIsRemovedWhileAnOlderBuildIsAlive(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	client := redistest.Client(t, s.Addr)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr)
	runID := newWorkflowRun(t, base, "", "d")
	callAs(t, base, "", "/v1/runs/"+runID+"/events", `{"event":{"eventType":"run_failed","specVersion":2,"eventData":{"error":{"message":"no"}}}}`)
	require.Eventually(t, func() bool { return client.ZCard(t.Context(), "asynq:servers").Val() == 2 }, time.Minute, 10*time.Millisecond)

	other := func(info string) string { return strings.ReplaceAll(info, "workflow_", "another__") }
	plantServer(t, client, "elsewhere:1:0d9a2a5e-1", other)
	older := plantServer(t, client, "old-host:7:0d9a2a5e-2", func(info string) string { return info })
	remove := func() (string, error) {
		return ask(t, "runs", "--url", base, "delete", "--yes", runID)
	}
	_, err := remove()
	require.EqualError(t, err, "No run is removed while a replica of an older build is alive: old-host (pid 7) would create removed runs anew. "+
		"Stop it, or upgrade it; one that was killed counts for five minutes")
	status, metrics := get(t, base+"/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, metrics, "world_redis_older_replicas 1\n")

	require.NoError(t, client.ZRem(t.Context(), "asynq:servers", older).Err()) // as it does when it stops
	out, err := remove()
	require.NoError(t, err)
	require.Equal(t, runID+" is removed\n", out)
	require.NoError(t, stop())
}

// The log says once that nothing is removed, with the replica and what to do, and once that it is over.
func TestTheLogSaysThatAnOlderBuildIsAlive(t *testing.T) {
	t.Parallel()
	log := &worldtest.Log{}
	newer, older := queue.Replica{Host: "a", PID: 1, Version: "v2", Knows: queue.KnowsRemovals}, queue.Replica{Host: "b", PID: 2}
	var alive []queue.Replica
	var fault error
	b := &builds{log: log.Logger(), replicas: func(context.Context) ([]queue.Replica, error) { return alive, fault }}
	for _, step := range []struct {
		alive      []queue.Replica
		fault      error
		may        bool
		warn, over int
	}{
		{alive: []queue.Replica{newer}, may: true},
		{alive: []queue.Replica{newer, older}, warn: 1},
		{alive: []queue.Replica{newer, older}, warn: 1},
		{fault: errors.New("no Redis"), warn: 1},
		{alive: []queue.Replica{newer}, may: true, warn: 1, over: 1},
		{may: true, warn: 1, over: 1},
		{alive: []queue.Replica{older}, warn: 2, over: 1},
	} {
		alive, fault = step.alive, step.fault
		may, err := b.mayRemove(t.Context())
		require.Equal(t, step.fault, err)
		require.Equal(t, step.may, may)
		require.Equal(t, step.warn, log.Count("no run is removed while a replica of an older build is alive"))
		require.Equal(t, step.over, log.Count("all replicas know removed runs"))
	}
	require.Equal(t, 2, log.Count("b (pid 2)"))
}

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage"
)

// An idle service, with ten slots per queue and with five hundred, sends fewer than four commands per second to Redis,
// including those inside its scripts. With any number of parked runs it sends at most five.
func idleServiceAsksLittle(t *testing.T) {
	parked := 20_000
	if *chaosLong {
		parked = 1_000_000
	}
	var all sync.WaitGroup
	for _, c := range []struct {
		slots, parked int
		most          float64 // commands a second
	}{{10, 0, 4}, {500, 0, 4}, {100, parked, 5}} {
		all.Go(func() {
			t.Run(fmt.Sprintf("%d slots, %d parked runs", c.slots, c.parked), func(t *testing.T) { idleWith(t, c.slots, c.parked, c.most) })
		})
	}
	all.Wait()
}

func idleWith(t *testing.T, slots, parked int, most float64) {
	const window = time.Minute
	s := redistest.Start(t)
	client := redistest.Client(t, s.Addr)
	if parked > 0 {
		plantParked(t, client, parked)
	}
	startProcess(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_REDIS_WORKER_CONCURRENCY="+strconv.Itoa(slots))
	<-time.After(10 * time.Second) // the start-up is not idleness
	if parked > 0 {
		begin := time.Now()
		last := client.ZRange(t.Context(), "workflow:hooks:index", -1, -1).Val()[0]
		require.Eventually(t, func() bool { // nor is the one look at what an earlier build wrote
			at := client.HMGet(t.Context(), "workflow:sweep", "walked", "hooks").Val()
			hooks, _ := at[1].(string)
			return at[0] == "1" && strings.HasSuffix(hooks, last)
		}, 30*time.Minute, 100*time.Millisecond)
		t.Logf("%d parked runs were looked at in %s", parked, time.Since(begin)+10*time.Second)
		require.Zero(t, client.ZCard(t.Context(), "workflow:runs:watch").Val())
		require.Equal(t, int64(parked), client.ZCard(t.Context(), "workflow:hooks:index").Val())
	}
	before := commandsOf(t, client)
	<-time.After(window)
	calls, total := map[string]int{}, 0
	for command, n := range commandsOf(t, client) {
		if more := n - before[command]; more > 0 && command != "info" {
			calls[command] = more
			total += more
		}
	}
	perSecond := float64(total) / window.Seconds()
	t.Logf("%.2f commands a second; in %s: %v", perSecond, window, calls)
	require.Less(t, perSecond, most)
	require.Positive(t, calls["evalsha"], "it does look after its queues")
}

// plantParked creates runs that each wait for a hook and are marked as parked, as a build that had no other lists wrote
// them.
func plantParked(t *testing.T, client redis.UniversalClient, n int) {
	t.Helper()
	ctx, clock := t.Context(), hourAgo{}
	store, err := storage.New(ctx, client, storage.Config{Clock: clock})
	require.NoError(t, err)
	value := func(v any) world.Raw {
		raw, err := cbor.Marshal(v)
		require.NoError(t, err)
		return raw
	}
	minter := ids.NewMinter(clock)
	runID, hookID, token := minter.Prefixed("wrun_"), minter.Prefixed("hook_"), "of_"+minter.New().String()
	for _, e := range []world.CreateEvent{
		{Type: world.EventRunCreated, Data: world.Fields{{Key: "deploymentId", Value: value("d")}, {Key: "workflowName", Value: value("wf")}, {Key: "input", Value: value([]byte("in"))}}},
		{Type: world.EventRunStarted},
		{Type: world.EventHookCreated, CorrelationID: hookID, Data: world.Fields{{Key: "token", Value: value(token)}}},
	} {
		e.RunID, e.SpecVersion = runID, 7
		_, err := store.CreateEvent(ctx, e)
		require.NoError(t, err)
	}
	require.NoError(t, store.MarkIdle(ctx, runID, 3))
	const prefix = "workflow:"
	for _, key := range []string{"runs:watch", "sweep"} {
		require.NoError(t, client.Del(ctx, prefix+key).Err())
	}
	require.Eventually(t, func() bool { return client.ZCard(ctx, prefix+"runs:by_status:pending").Val() == 0 }, time.Minute, time.Millisecond)
	texts, hash := func(id string) []string {
		return []string{"wrun_" + id, "hook_" + id, "of_" + id, rediskey.Hash("of_" + id)}
	}, rediskey.Hash(token)
	copies := make([]redistest.Copy, 0, n)
	for i := 1; i < n; i++ {
		at := clock.Now().Add(time.Duration(i) * time.Millisecond)
		copies = append(copies, redistest.Copy{Score: at.UnixMilli(), Texts: texts(minter.At(at).String())})
	}
	redistest.Multiply(t, client, prefix, []string{runID, hookID, token, hash}, []string{prefix + "hook:" + hookID, prefix + "hooks:by_token:" + hash},
		[]redistest.Entry{
			{List: prefix + "runs:index", Member: runID},
			{List: prefix + "runs:by_name:wf", Member: runID},
			{List: prefix + "runs:by_status:running", Member: runID},
			{List: prefix + "hooks:index", Member: runID + "/" + hookID},
		}, copies)
}

// hourAgo is a slow clock: a million runs, a millisecond apart, take a quarter of an hour.
type hourAgo struct{}

func (hourAgo) Now() time.Time { return time.Now().Add(-time.Hour) }

var commandCalls = regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+)`)

// commandsOf returns the number of commands that a Redis has counted, including those inside scripts.
func commandsOf(t *testing.T, client redis.UniversalClient) map[string]int {
	t.Helper()
	info, err := client.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, m := range commandCalls.FindAllStringSubmatch(info, -1) {
		counts[m[1]], err = strconv.Atoi(m[2])
		require.NoError(t, err)
	}
	return counts
}

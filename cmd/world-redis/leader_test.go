package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// callsOf returns how many calls a Redis executes during a period, by command, including those inside scripts.
func callsOf(t *testing.T, client redis.UniversalClient, window time.Duration) (calls map[string]int, total int) {
	t.Helper()
	before, calls := commandsOf(t, client), map[string]int{}
	<-time.After(window)
	for command, n := range commandsOf(t, client) {
		if more := n - before[command]; more > 0 && command != "info" {
			calls[command] = more
			total += more
		}
	}
	return calls, total
}

// With a thousand parked runs, ten replicas send Redis at most twice as many commands as one, and hold few connections
// each.
func tenReplicasAskForLittleMoreThanOne(t *testing.T) {
	const parked = 1000
	totals := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, replicas := range []int{1, 10} {
		all.Go(func() {
			s := redistest.Start(t)
			client := redistest.Client(t, s.Addr)
			plantParked(t, client, parked)
			for i := range replicas {
				startProcess(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr+"/0?client_name=replica"+strconv.Itoa(i))
			}
			require.Eventually(t, func() bool { // the first look at all runs is over
				return client.HExists(t.Context(), "workflow:sweep", "walked").Val() && client.ZCard(t.Context(), "workflow:runs:watch").Val() == 0
			}, 5*time.Minute, 100*time.Millisecond)
			<-time.After(10 * time.Second) // the start-up is not idleness
			calls, total := callsOf(t, client, time.Minute)
			t.Logf("%d replicas: %d calls a minute: %v", replicas, total, calls)
			require.Positive(t, calls["publish"], "one leads")
			connections := map[string]int{}
			list, err := client.ClientList(t.Context()).Result()
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(` name=(replica\d+) `).FindAllStringSubmatch(list, -1) {
				connections[m[1]]++
			}
			t.Logf("connections: %v", connections)
			require.Len(t, connections, replicas)
			for replica, n := range connections {
				require.LessOrEqual(t, n, 5, "%s: %s", replica, list)
			}
			mu.Lock()
			defer mu.Unlock()
			totals[replicas] = total
		})
	}
	all.Wait()
	require.LessOrEqual(t, totals[10], 2*totals[1])
}

// A leader is paused for longer than its lease. Another replica leads, and wakes forgotten runs; the first one
// continues and repeats none of that. When the leader stops normally, the other one leads immediately.
func leaderStandsStill(t *testing.T) {
	a := newEndingApp(t, 0)
	r, environ := redisOf(t)
	environ = append(environ, "WORKFLOW_BASE_URL="+a.URL, "WORKFLOW_WORLD_RECOVERY_AFTER=4s")
	replicas := []*process{startProcess(t, environ...), startProcess(t, environ...)}
	a.service = func() string { return replicas[1].base }
	leads := func(p *process) bool {
		_, text := get(t, p.base+"/metrics")
		return strings.Contains(text, "\nworld_redis_leader 1\n")
	}
	awaitLead := func(p *process) {
		t.Helper()
		require.Eventually(t, func() bool { return leads(p) }, time.Minute, 50*time.Millisecond)
	}
	require.Eventually(t, func() bool { return leads(replicas[0]) != leads(replicas[1]) }, time.Minute, 50*time.Millisecond)
	if leads(replicas[1]) {
		replicas[0], replicas[1] = replicas[1], replicas[0]
	}
	frozen, other := replicas[0], replicas[1]
	woken := func(p *process) (n int) {
		_, text := get(t, p.base+"/metrics")
		m := regexp.MustCompile(`\nworld_redis_runs_woken_total (\d+)\n`).FindStringSubmatch(text)
		require.NotNil(t, m)
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		return n
	}
	w := &wide{t: t, base: other.base}
	forgotten := func() string {
		runID := w.newRun([]byte("input"))
		w.accepted(runID, "run_started", "", nil)
		return runID
	}

	require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGSTOP))
	begin := time.Now()
	runs := []string{forgotten()}
	awaitLead(other)
	t.Logf("another replica leads %s after the stop", time.Since(begin).Round(time.Millisecond))
	require.Eventually(t, func() bool { return woken(other) == 1 }, time.Minute, 50*time.Millisecond)
	requireAllEnded(t, other.base, r.Client, r.Prefix, runs)
	<-time.After(time.Until(begin.Add(30 * time.Second)))
	require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return frozen.out.Find(regexp.MustCompile("no longer leads")) != nil }, time.Minute, 50*time.Millisecond)
	runs = append(runs, forgotten())
	requireAllEnded(t, other.base, r.Client, r.Prefix, runs)
	require.True(t, leads(other))
	require.False(t, leads(frozen))
	require.Equal(t, 2, woken(other))
	require.Zero(t, woken(frozen))
	a.requireDelivered(t, runs, 1)

	require.NoError(t, other.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, other.cmd.Wait())
	ended := time.Now()
	awaitLead(frozen)
	t.Logf("the first one leads again %s after the end of the other", time.Since(ended).Round(time.Millisecond))
	require.NotZero(t, r.Client.Exists(t.Context(), fmt.Sprint(r.Prefix, "lead:{lead}")).Val())
}

package main

import (
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// A service without work, with ten slots a queue and with five hundred, asks Redis for little: less than
// four commands a second, those inside its scripts included.
func idleServiceAsksLittle(t *testing.T) {
	var all sync.WaitGroup
	for _, slots := range []int{10, 500} {
		all.Go(func() {
			t.Run(strconv.Itoa(slots)+" slots", func(t *testing.T) { idleWith(t, slots) })
		})
	}
	all.Wait()
}

func idleWith(t *testing.T, slots int) {
	const window, most = time.Minute, 4.0 // a second
	s := redistest.Start(t)
	client := redistest.Client(t, s.Addr)
	startProcess(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_REDIS_WORKER_CONCURRENCY="+strconv.Itoa(slots))
	<-time.After(10 * time.Second) // the start-up is not idleness
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

var commandCalls = regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+)`)

// commandsOf are the calls that a Redis has counted, those inside scripts too.
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

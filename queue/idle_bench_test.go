package queue_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

var calls = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// The Redis commands of a replica without work, over twenty seconds.
func BenchmarkIdle(b *testing.B) {
	s := redistest.Start(b)
	r := &redistest.Redis{Client: redistest.Client(b, s.Addr), Addr: s.Addr, Prefix: "idle:", Mode: redisconn.Standalone}
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	q := start(b, r, a)
	enqueue(b, q, flow("wrun_1"))
	a.await(b, 1)
	<-time.After(2 * time.Second) // the start-up is not idleness
	before := countCalls(b, r.Client)
	const window = 20 * time.Second
	<-time.After(window)
	total := 0
	for command, n := range countCalls(b, r.Client) {
		if d := n - before[command]; d > 0 && command != "info" {
			b.Logf("%s: %d", command, d)
			total += d
		}
	}
	b.ReportMetric(float64(total)/window.Seconds(), "commands/s")
}

func countCalls(tb testing.TB, c redis.UniversalClient) map[string]int {
	tb.Helper()
	info, err := c.Info(tb.Context(), "commandstats").Result()
	require.NoError(tb, err)
	counts := map[string]int{}
	for _, m := range calls.FindAllStringSubmatch(info, -1) {
		n, err := strconv.Atoi(m[2])
		require.NoError(tb, err)
		counts[m[1]] = n
	}
	return counts
}

package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BenchmarkEnd reports the time of the call that ends a small run with a hook.
func BenchmarkEnd(tb *testing.B) {
	b := newBundle(tb, redistest.New(tb))
	b.spec = 7
	for tb.Loop() {
		tb.StopTimer()
		runID := b.running()
		b.send(runID, world.EventHookCreated, "hook_"+runID, data(tb, "token", runID))
		b.quiet()
		tb.StartTimer()
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
	}
}

// BenchmarkEndOfLargeRun ends a run of 50,000 events and 20,000 hooks with zero retention. It reports the longest time
// that a script occupies Redis, and the time of the call with all the work after it.
func BenchmarkEndOfLargeRun(tb *testing.B) {
	server := redistest.Start(tb)
	b := newBundle(tb, &redistest.Redis{Client: redistest.Client(tb, server.Addr), Addr: server.Addr, Prefix: "large:"})
	b.spec = 7
	var longest, all, ends time.Duration
	for tb.Loop() {
		tb.StopTimer()
		runID := b.large(true, 50_000, 20_000, true)
		b.quiet()
		require.NoError(tb, b.redis.Client.ConfigSet(b.ctx, "slowlog-log-slower-than", "500").Err())
		require.NoError(tb, b.redis.Client.Do(b.ctx, "slowlog", "reset").Err())
		tb.StartTimer()
		began := time.Now()
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		ends += time.Since(began)
		b.cleanups.wait()
		all += time.Since(began)
		tb.StopTimer()
		slow, err := b.redis.Client.SlowLogGet(b.ctx, -1).Result()
		require.NoError(tb, err)
		for _, one := range slow {
			longest = max(longest, one.Duration)
		}
		b.checkCleared(runID, true)
		tb.StartTimer()
	}
	tb.ReportMetric(longest.Seconds()*1000, "ms/longest-script")
	tb.ReportMetric(ends.Seconds()*1000/float64(tb.N), "ms/call")
	tb.ReportMetric(all.Seconds()/float64(tb.N), "s/all")
}

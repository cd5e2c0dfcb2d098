package storage

import (
	goflag "flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

var dueBenchRuns = goflag.Int("bench.due", 5_000, "runs that BenchmarkRemovalOfDueRuns removes")

// BenchmarkRemovalOfDueRuns removes six-event runs whose time is over, and reports how many a second, the longest command of Redis
// meanwhile, and the 99th percentile of the calls of eight others, while that goes on and without it.
func BenchmarkRemovalOfDueRuns(tb *testing.B) {
	server := redistest.Start(tb)
	b := newBundle(tb, &redistest.Redis{Client: redistest.Client(tb, server.Addr), Addr: server.Addr, Prefix: "due:"}).on(tb, 7).keeping("completed=1h", nil)
	events := newSixEvents(tb)
	for tb.Loop() {
		tb.StopTimer()
		var writers errgroup.Group
		writers.SetLimit(16)
		for range *dueBenchRuns {
			writers.Go(func() error {
				_, err := events.write(b.ctx, b.Store, func(time.Duration) {})
				return err
			})
		}
		require.NoError(tb, writers.Wait())
		b.quiet()
		b.clock.Add(time.Hour)
		alone := p99While(tb, b, events, func() { <-time.After(3 * time.Second) })
		watchSlow(tb, b)
		tb.StartTimer()
		began := time.Now()
		busy := p99While(tb, b, events, func() {
			for more := true; more; {
				var err error
				more, err = b.removeDue(b.ctx)
				require.NoError(tb, err)
			}
		})
		took := time.Since(began)
		tb.StopTimer()
		require.Equal(tb, int64(*dueBenchRuns), b.RunsRemoved()[RemovedByRule])
		b.dueRuns.removed[0].Store(0)
		tb.ReportMetric(float64(*dueBenchRuns)/took.Seconds(), "runs/s")
		tb.ReportMetric(alone.Seconds()*1000, "ms/p99-alone")
		tb.ReportMetric(busy.Seconds()*1000, "ms/p99-meanwhile")
		tb.ReportMetric(slowest(tb, b).Seconds()*1000, "ms/longest-command")
		require.NoError(tb, b.redis.Client.FlushAll(b.ctx).Err())
		tb.StartTimer()
	}
}

// p99While returns the 99th percentile of the time of calls that eight callers make while work goes on.
func p99While(tb testing.TB, b *bundle, events sixEvents, work func()) time.Duration {
	tb.Helper()
	var mu sync.Mutex
	var all []time.Duration
	done := make(chan struct{})
	var callers errgroup.Group
	for range 8 {
		callers.Go(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				_, err := events.write(b.ctx, b.Store, func(d time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					all = append(all, d)
				})
				if err != nil {
					return err
				}
			}
		})
	}
	work()
	close(done)
	require.NoError(tb, callers.Wait())
	require.NotEmpty(tb, all)
	slices.Sort(all)
	return all[len(all)*99/100]
}

func watchSlow(tb testing.TB, b *bundle) {
	tb.Helper()
	require.NoError(tb, b.redis.Client.ConfigSet(b.ctx, "slowlog-log-slower-than", "500").Err())
	require.NoError(tb, b.redis.Client.Do(b.ctx, "slowlog", "reset").Err())
}

func slowest(tb testing.TB, b *bundle) time.Duration {
	tb.Helper()
	slow, err := b.redis.Client.SlowLogGet(b.ctx, -1).Result()
	require.NoError(tb, err)
	longest := time.Duration(0)
	for _, one := range slow {
		if len(one.Args) == 0 || one.Args[0] != "flushall" {
			longest = max(longest, one.Duration)
		}
	}
	return longest
}

// BenchmarkRemovalOfALargeRun removes a run of 25,000 events in 12,500 steps, and reports the
// longest command of Redis meanwhile.
func BenchmarkRemovalOfALargeRun(tb *testing.B) {
	server := redistest.Start(tb)
	b := newBundle(tb, &redistest.Redis{Client: redistest.Client(tb, server.Addr), Addr: server.Addr, Prefix: "large:"}).on(tb, 7).keeping("completed=1h", nil)
	for tb.Loop() {
		tb.StopTimer()
		runID := b.running()
		for n := range 62 {
			var steps []world.CreateEvent
			for i := range 200 {
				steps = append(steps, b.entry(world.EventStepCreated, fmt.Sprintf("step_%d_%d", n, i)))
			}
			b.batch(runID, fmt.Sprintf("created_%d", n), steps...)
			for i := range steps {
				steps[i] = b.entry(world.EventStepCompleted, steps[i].CorrelationID)
			}
			b.batch(runID, fmt.Sprintf("completed_%d", n), steps...)
		}
		b.send(runID, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		b.quiet()
		b.clock.Add(time.Hour)
		watchSlow(tb, b)
		tb.StartTimer()
		b.sweep()
		b.quiet()
		tb.StopTimer()
		require.Equal(tb, []string{b.keys.of(runID).removed()}, b.naming(runID))
		tb.ReportMetric(slowest(tb, b).Seconds()*1000, "ms/longest-command")
		require.NoError(tb, b.redis.Client.FlushAll(b.ctx).Err())
		tb.StartTimer()
	}
}

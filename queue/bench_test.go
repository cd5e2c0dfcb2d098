package queue_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// The time from queue() to the delivery, one message at a time. `ns/op` includes the enqueue call; compare the
// percentiles.
func BenchmarkHop(b *testing.B) {
	r := redistest.New(b)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	q := start(b, r, a)
	hops := make([]time.Duration, 0, b.N)
	for i := range b.N {
		m := stepOf("wrun_1", fmt.Sprint("step_", i))
		m.RequestID = fmt.Sprint(i)
		begin := time.Now()
		enqueue(b, q, m)
		a.await(b, 1)
		a.mu.Lock()
		hops = append(hops, a.times[len(a.times)-1].Sub(begin))
		a.mu.Unlock()
	}
	slices.Sort(hops)
	b.ReportMetric(float64(hops[len(hops)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(hops[len(hops)*99/100].Microseconds()), "p99-µs")
}

// Messages per second through one process: enqueued by 64 callers, delivered and finished.
func BenchmarkThroughput(b *testing.B) {
	r := redistest.New(b)
	used := redisTime(b, r.Client)
	var done atomic.Int64
	all := make(chan struct{})
	a := deliverFunc(func(context.Context, world.Delivery) world.Outcome {
		if done.Add(1) == int64(b.N) {
			close(all)
		}
		return world.Outcome{Verdict: world.Done}
	})
	c := config(r, a)
	c.FlowConcurrency, c.StepConcurrency = 100, 100
	q := run(b, newQueue(b, r.Client, c))
	begin := time.Now()
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < b.N; i += 64 {
				_, err := q.Enqueue(b.Context(), stepOf("wrun_1", fmt.Sprint("step_", i)))
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	select {
	case <-all:
	case <-time.After(time.Minute):
		require.Fail(b, "not all were delivered")
	}
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "messages/s")
	b.ReportMetric((redisTime(b, r.Client)-used)/float64(b.N), "redis-µs/message")
}

var cpuUsed = regexp.MustCompile(`used_cpu_(?:user|sys):([0-9.]+)`)

// redisTime is the processor time that Redis has used, in µs; other load on the machine affects it less than the other
// figures.
func redisTime(tb testing.TB, c redis.UniversalClient) float64 {
	tb.Helper()
	info, err := c.Info(tb.Context(), "cpu").Result()
	require.NoError(tb, err)
	total := 0.0
	for _, m := range cpuUsed.FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(m[1], 64)
		require.NoError(tb, err)
		total += seconds
	}
	return 1e6 * total
}

type deliverFunc func(context.Context, world.Delivery) world.Outcome

func (f deliverFunc) Deliver(ctx context.Context, d world.Delivery) world.Outcome { return f(ctx, d) }

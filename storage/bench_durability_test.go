package storage

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/replicated"
)

// BenchmarkDurability compares events that one replica confirms with those that only the master has, on the same Redis
// and alternating, with one caller and with 64. The replica is on the same machine, so network time has to be added.
func BenchmarkDurability(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			r, master, _ := redistest.StartReplicated(b, 1)
			conn, err := redisconn.Connect(r.URL())
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, conn.Close()) })
			require.NoError(b, conn.Confirm(1, "bench:replicated:"))
			s, err := New(b.Context(), conn.Client, Config{Prefix: "bench:"})
			require.NoError(b, err)
			admin, events := redistest.Client(b, master.Addr), newSixEvents(b)
			cpu := func() (seconds float64) {
				for line := range strings.Lines(admin.Info(b.Context(), "cpu").Val()) {
					for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
						if text, ok := strings.CutPrefix(line, name); ok {
							n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
							require.NoError(b, err)
							seconds += n
						}
					}
				}
				return seconds
			}
			contexts := map[string]context.Context{"local": b.Context(), "replicas": replicated.Wanted(b.Context())}
			took, lasted, used := map[string][]time.Duration{}, map[string]float64{}, map[string]float64{}
			for b.Loop() {
				for name, ctx := range contexts {
					var mu sync.Mutex
					var calling sync.WaitGroup
					began, before := time.Now(), cpu()
					for range callers {
						calling.Go(func() {
							for range 10 {
								_, err := events.write(ctx, s, func(d time.Duration) {
									mu.Lock()
									defer mu.Unlock()
									took[name] = append(took[name], d)
								})
								require.NoError(b, err)
							}
						})
					}
					calling.Wait()
					lasted[name] += time.Since(began).Seconds()
					used[name] += cpu() - before
				}
			}
			p50 := func(name string) float64 {
				slices.Sort(took[name])
				return float64(took[name][len(took[name])/2].Microseconds())
			}
			rate := func(name string) float64 { return float64(len(took[name])) / lasted[name] }
			each := func(name string) float64 { return used[name] / float64(len(took[name])) * 1e6 }
			for name := range contexts {
				b.ReportMetric(p50(name), name+"-p50-µs")
				b.ReportMetric(rate(name), name+"-events/s")
				b.ReportMetric(each(name), name+"-redis-µs")
			}
			b.ReportMetric(p50("replicas")/p50("local"), "p50-ratio")
			b.ReportMetric(rate("replicas")/rate("local"), "events/s-ratio")
			b.ReportMetric(each("replicas")/each("local"), "redis-ratio")
		})
	}
}

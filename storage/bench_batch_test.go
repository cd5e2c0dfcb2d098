package storage

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BenchmarkBatch reports the time of a batch with as many events as the SDK sends, by kind, with payloads of 300 and of
// 3,000 bytes.
func BenchmarkBatch(tb *testing.B) {
	const events = 32
	for _, size := range []int{300, 3000} {
		for _, kind := range []string{"born", "started", "retried", "completed", "waits"} {
			tb.Run(fmt.Sprintf("%s%d", kind, size), func(tb *testing.B) {
				b := newBundle(tb, redistest.New(tb))
				b.spec = 7
				payload := make([]byte, size)
				batch := func(runID string, count int, types ...world.EventType) {
					var all []world.CreateEvent
					for i := range count {
						for _, kind := range types {
							e := b.entry(kind, fmt.Sprintf("step_%d", i))
							switch kind {
							case world.EventStepCreated:
								e.Data = data(tb, "stepName", "add", "input", payload)
							case world.EventStepRetrying:
								e.Data = data(tb, "stepName", "add", "error", payload, "retryAfter", b.clock.Now().Add(-time.Second).UnixMilli())
							case world.EventStepCompleted:
								e.Data = data(tb, "stepName", "add", "result", payload)
							default:
							}
							all = append(all, e)
						}
					}
					items, err := b.CreateBatch(b.ctx, world.CreateBatch{RunID: runID, Events: all})
					require.NoError(tb, err)
					for i := range items {
						require.Nil(tb, items[i].Err)
					}
				}
				var inRedis int64
				for tb.Loop() {
					tb.StopTimer()
					runID := b.running()
					if kind != "born" && kind != "waits" {
						batch(runID, events, world.EventStepCreated, world.EventStepStarted)
					}
					if kind == "started" || kind == "completed" {
						batch(runID, events, world.EventStepRetrying)
					}
					before := b.scriptTime(tb)
					tb.StartTimer()
					switch kind {
					case "born":
						batch(runID, events/2, world.EventStepCreated, world.EventStepStarted)
					case "started":
						batch(runID, events, world.EventStepStarted)
					case "retried":
						batch(runID, events, world.EventStepRetrying)
					case "completed":
						batch(runID, events, world.EventStepCompleted)
					case "waits":
						batch(runID, events, world.EventWaitCreated)
						batch(runID, events, world.EventWaitCompleted)
					}
					tb.StopTimer()
					inRedis += b.scriptTime(tb) - before
					tb.StartTimer()
				}
				tb.ReportMetric(float64(inRedis)/float64(tb.N), "redis-µs/op")
			})
		}
	}
}

// scriptTime returns the time that Redis has spent in scripts, in microseconds.
func (b *bundle) scriptTime(tb testing.TB) (µs int64) {
	info, err := b.redis.Client.Info(b.ctx, "commandstats").Result()
	require.NoError(tb, err)
	for _, line := range strings.Split(info, "\r\n") {
		if rest, found := strings.CutPrefix(line, "cmdstat_evalsha:"); found {
			_, rest, _ = strings.Cut(rest, "usec=")
			n, _, _ := strings.Cut(rest, ",")
			µs, err = strconv.ParseInt(n, 10, 64)
			require.NoError(tb, err)
		}
	}
	return µs
}

package storage

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
)

var reUsed = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)

// BenchmarkLogEnd reports what the check of the log's end costs Redis, in percent of the CPU time of an event without
// it: when the event that the caller names is the last of the log, and when the log is longer. The kinds alternate.
func BenchmarkLogEnd(b *testing.B) {
	server := redistest.Start(b)
	x := newBundle(b, &redistest.Redis{Client: redistest.Client(b, server.Addr), Addr: server.Addr, Prefix: "bench:"}).on(b, 3)
	used := func() (total float64) {
		info, err := x.redis.Client.Info(x.ctx, "cpu").Result()
		require.NoError(b, err)
		for _, m := range reUsed.FindAllStringSubmatch(info, 2) {
			n, err := strconv.ParseFloat(m[1], 64)
			require.NoError(b, err)
			total += n
		}
		return total
	}
	payload := make([]byte, 300)
	step, result := data(b, "stepName", "add", "input", payload), data(b, "stepName", "add", "result", payload)
	write := func(end func(last, before *world.LogEnd) *world.LogEnd) {
		runID := x.running()
		var last, before *world.LogEnd
		for i := range 50 {
			for _, req := range []world.CreateEvent{
				{Type: world.EventStepCreated, Data: step}, {Type: world.EventStepStarted}, {Type: world.EventStepCompleted, Data: result},
			} {
				req.RunID, req.SpecVersion, req.CorrelationID, req.LogEnd = runID, 3, fmt.Sprintf("step_%d", i), end(last, before)
				got, err := x.CreateEvent(x.ctx, req)
				require.NoError(b, err)
				before = last
				position, _ := record.PositionOf(got.Event.EventID)
				last = &world.LogEnd{Position: position, CreatedAt: got.Event.CreatedAt}
			}
		}
	}
	kinds := []func(last, before *world.LogEnd) *world.LogEnd{
		func(_, _ *world.LogEnd) *world.LogEnd { return nil },
		func(last, _ *world.LogEnd) *world.LogEnd { return last },
		func(_, before *world.LogEnd) *world.LogEnd { return before },
	}
	spent := make([][]float64, len(kinds))
	for b.Loop() {
		for kind, end := range kinds {
			start := used()
			for range 10 {
				write(end)
			}
			spent[kind] = append(spent[kind], used()-start)
		}
	}
	// The median of the faster half of the rounds: other load on the machine only adds time.
	typical := func(kind int) float64 {
		slices.Sort(spent[kind])
		return spent[kind][len(spent[kind])/4]
	}
	b.ReportMetric(typical(0)/1500*1e6, "redis-µs/event")
	b.ReportMetric(100*(typical(1)/typical(0)-1), "%/same-end")
	b.ReportMetric(100*(typical(2)/typical(0)-1), "%/longer")
}

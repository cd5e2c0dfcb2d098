package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/archivetest"
	"github.com/world-redis/world-redis/internal/pgtest"
)

// BenchmarkPutRuns stores runs of six events in batches of 500.
func BenchmarkPutRuns(b *testing.B) {
	a := open(b, pgtest.Start(b).URL(), "wf:")
	defer a.Close() //nolint:errcheck // returns none
	const batch = 500
	number := 0
	for b.Loop() {
		copies := make([]*world.RunCopy, batch)
		for i := range copies {
			copies[i] = archivetest.SixEvents(archivetest.RunID(archivetest.At+world.Millis(number/60_000), number%60_000))
			number++
		}
		require.NoError(b, a.PutRuns(b.Context(), copies))
	}
	b.ReportMetric(float64(number)/b.Elapsed().Seconds(), "runs/s")
}

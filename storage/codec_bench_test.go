package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// The end of a step is the most frequent record.
func BenchmarkRecord(b *testing.B) {
	e := world.Event{
		RunID: "wrun_01M8GS30JGSBBK33CKRC12QBDV", Type: world.EventStepCompleted, CorrelationID: "step_01M8GS30JGSBBK33CKRC12QBDV", SpecVersion: 7,
		OccurredAt: 1_800_000_000_000, Data: newSixEvents(b).result,
	}
	encoded, _, err := record.Encode(e)
	require.NoError(b, err)
	stored := "1800000000000." + string(encoded)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := record.Encode(e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := record.Decode(e.RunID, 0, stored, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if record.TextField(e.Data, "stepName") == "" {
				b.Fatal("no name")
			}
		}
	})
}

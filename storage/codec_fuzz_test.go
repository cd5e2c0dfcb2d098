package storage

import (
	"testing"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// Numbers and timestamps of any eventData are read without a panic.
func FuzzDataFields(f *testing.F) {
	f.Add([]byte(raw(f, time.UnixMilli(1_800_000_000_000))))
	f.Add([]byte(raw(f, 1.5)))
	f.Add([]byte{0xc1, 0xfb})
	f.Fuzz(func(_ *testing.T, value []byte) {
		fields := world.Fields{{Key: "k", Value: value}}
		_, _ = record.MillisField(fields, "k")
		_ = record.TextField(fields, "k")
		_, _ = changesOf(world.Fields{{Key: "changes", Value: value}})
		_ = checkFirstAttributes(world.Fields{{Key: "attributes", Value: value}})
	})
}

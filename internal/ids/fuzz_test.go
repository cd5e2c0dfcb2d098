package ids_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// Any text is an id or not; one with a time is valid after a valid prefix.
func FuzzRead(f *testing.F) {
	f.Add("wrun_", "wrun_01MCHDTNTZ2K066A1FJ47MJ209")
	f.Add("", "01MCHDTNTZ2K066A1FJ47MJ209")
	f.Add("", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	f.Add("", "..")
	f.Fuzz(func(t *testing.T, prefix, id string) {
		ms, ok := ids.Time(prefix, id)
		if ok {
			require.Len(t, id, len(prefix)+26)
			require.Less(t, ms, world.Millis(1)<<48)
			require.True(t, world.ValidID(strings.TrimPrefix(id, prefix)))
		}
		if world.ValidID(id) {
			require.NotContains(t, id, "/")
			require.NotContains(t, id, "*")
			require.NotContains(t, id, "{")
			require.LessOrEqual(t, len(id), 256)
		}
	})
}

// A minted id is valid, has the time of its minting, and is larger than the one before.
func FuzzMint(f *testing.F) {
	f.Add(uint64(1_800_000_000_000), uint64(1_800_000_000_000))
	f.Add(uint64(5), uint64(3))
	f.Fuzz(func(t *testing.T, first, second uint64) {
		const most = 1<<48 - 2
		m := ids.NewMinter(nil)
		before := m.At(time.UnixMilli(int64(first % most)))
		after := m.At(time.UnixMilli(int64(second % most)))
		require.Negative(t, before.Compare(after))
		for ms, id := range map[uint64]string{first % most: before.String(), max(first%most, second%most): after.String()} {
			require.True(t, world.ValidID("wrun_"+id))
			got, ok := ids.Time("wrun_", "wrun_"+id)
			require.True(t, ok)
			require.InDelta(t, ms, int64(got), 1)
		}
	})
}

package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// An id determines the position of its event. Ids increase with the position, those of two runs differ, and an id from
// before spec 6 contains the event's time, as SDK v4 expects.
func TestIDsGivePositions(t *testing.T) {
	t.Parallel()
	for _, isSlot := range []bool{false, true} {
		var seen []string
		for i, position := range []int{0, 1, 31, 32, 254, 255, 256, 99_999, 1 << 24, maxPosition} {
			id := EventID("wrun_1", 1_800_000_000_000+world.Millis(i/3), position, isSlot)
			got, ok := PositionOf(id)
			require.True(t, ok)
			require.Equal(t, position, got)
			seen = append(seen, id)
		}
		require.True(t, slices.IsSorted(seen), "%v", seen)
	}
	id := EventULID("wrun_1", 1_800_000_000_123, 7)
	ms, ok := ids.Time("wevt_", id)
	require.True(t, ok)
	require.Equal(t, world.Millis(1_800_000_000_123), ms)
	require.NotEqual(t, id, EventULID("wrun_2", 1_800_000_000_123, 7))
	require.Equal(t, "evnt_00000000000000000000000008", EventSlot(7))
	for _, other := range []string{"", "evnt_", "evnt_0", "evnt_x", "evnt_99999999999999999999999999", "wevt_", "wevt_1", id[:30], strings.ToLower(id), "msg_1"} {
		if position, ok := PositionOf(other); ok {
			require.NotEqual(t, other, EventULID("wrun_1", 1_800_000_000_123, position), "who asks compares the ids")
		}
	}
}

package storage

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
)

// An id tells the one place at which its event can stand. Ids grow with the place, those of two runs are
// not alike, and one before spec 6 has the event's time in it, as SDK v4 expects.
func TestIDTellsThePlace(t *testing.T) {
	t.Parallel()
	for _, isSlot := range []bool{false, true} {
		var seen []string
		for i, position := range []int{0, 1, 31, 32, 254, 255, 256, 99_999, 1 << 24, maxPosition} {
			id := eventID("wrun_1", 1_800_000_000_000+world.Millis(i/3), position, isSlot)
			got, ok := positionOf(id)
			require.True(t, ok)
			require.Equal(t, position, got)
			seen = append(seen, id)
		}
		require.True(t, slices.IsSorted(seen), "%v", seen)
	}
	id := ulidID("wrun_1", 1_800_000_000_123, 7)
	ms, ok := ids.Time("wevt_", id)
	require.True(t, ok)
	require.Equal(t, world.Millis(1_800_000_000_123), ms)
	require.NotEqual(t, id, ulidID("wrun_2", 1_800_000_000_123, 7))
	require.Equal(t, "evnt_00000000000000000000000008", slotID(7))
	for _, other := range []string{"", "evnt_", "evnt_0", "evnt_x", "evnt_99999999999999999999999999", "wevt_", "wevt_1", id[:30], strings.ToLower(id), "msg_1"} {
		if position, ok := positionOf(other); ok {
			require.NotEqual(t, other, ulidID("wrun_1", 1_800_000_000_123, position), "who asks compares the ids")
		}
	}
}

// An event is found by its own id alone: not by that of another run's event, of another time, or of the
// other kind of ids, and not by a slot that is written in another way.
func TestEventIsFoundByItsOwnIDAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b := newBundle(t, r).on(t, spec)
			runID, other := b.running(), b.running()
			log := b.events(runID)
			for _, e := range log {
				got, err := b.GetEvent(b.ctx, runID, e.EventID, false)
				require.NoError(t, err)
				require.Equal(t, e, got)
			}
			for _, id := range []string{
				slotID(2), "evnt_2", "evnt_000000000000000000000000002", ulidID(runID, b.now(), 2), ulidID(runID, b.now()+1, 1), ulidID(other, b.now(), 1),
				eventID(runID, b.now(), 1, spec < 6), "evnt_0",
			} {
				_, err := b.GetEvent(b.ctx, runID, id, false)
				require.Equal(t, world.CodeEventNotFound, world.ErrorCode(err), id)
			}
		}
	})
}

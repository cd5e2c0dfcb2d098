package lane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Long-running deliveries leave a tenth of the slots to others, up to a limit.
func TestSlotsBesideLongRunningDeliveries(t *testing.T) {
	t.Parallel()
	l := &Lane{Kind: world.KindFlow, Concurrency: 20}
	for _, c := range []struct{ inWork, longRunning, want int }{
		{0, 0, 20},
		{19, 0, 1},
		{20, 0, 0}, // all short
		{20, 5, 0},
		{20, 19, 1},
		{20, 20, 2},
		{21, 20, 1},
		{22, 20, 0},
		{10, 10, 10},
		{150, 150, 2},
		{199, 199, 1},
		{200, 200, 0},
	} {
		l.long.count = c.longRunning
		require.Equal(t, c.want, l.slotsBeside(c.inWork), "%+v", c)
	}
	l.long.count, l.long.ended = 20, time.Now()
	require.Zero(t, l.slotsBeside(20), "they finish one after the other")
	l.long.ended = l.long.ended.Add(-longRunningAfter)
	require.Equal(t, 2, l.slotsBeside(20))
	steps := &Lane{Kind: world.KindStep, Concurrency: 20}
	require.Zero(t, steps.slotsBeside(20))
}

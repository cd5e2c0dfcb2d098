package ids_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

type steppingClock struct{ times []time.Time }

func (c *steppingClock) Now() time.Time {
	t := c.times[0]
	if len(c.times) > 1 {
		c.times = c.times[1:]
	}
	return t
}

func TestMinterNeverGoesBackOrTies(t *testing.T) {
	t.Parallel()
	base := time.UnixMilli(1_700_000_000_123)
	clock := &steppingClock{times: []time.Time{base, base, base.Add(-5 * time.Second), base.Add(time.Millisecond), base}}
	m := ids.NewMinter(clock)
	last := ""
	for range 5 {
		id := m.Prefixed("wevt_")
		require.Greater(t, id, last)
		last = id
	}
	ms, ok := ids.Time("wevt_", last)
	require.True(t, ok)
	require.Equal(t, world.Millis(1_700_000_000_124), ms)
}

func TestTimeRefusesWhatIsNoULID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "wrun_", "wrun_x", "step_01ARZ3NDEKTSV4RRFFQ69G5FAV", "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAVX", "wrun_81ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		_, ok := ids.Time("wrun_", id)
		require.False(t, ok, id)
	}
}

package lane

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// late delays the calls of a lane until long after they were given up.
func late(t *testing.T, l *Lane) {
	t.Helper()
	require.NotEmpty(t, l.clock.after(0), "its first sweep has read Redis's clock")
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	l.clock.shown -= 60
}

// BR-58: Redis stood still until leases lapsed, and then carries out the calls that were sent to it meanwhile and given
// up by their senders. Such a call claims no message, and takes none from a replica that could not renew its lease.
func TestBR58CallsThatWereGivenUpTouchNoMessage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		mine, other := replica(t, r, nil), replica(t, r, nil)
		require.NoError(t, other.sweep(t.Context()))
		id := add(t, mine)

		late(t, other)
		left, err := other.claim()
		require.NoError(t, err)
		require.NotZero(t, left, "the caller looks again")
		require.Nil(t, other.fromBuffer())
		require.Empty(t, other.clock.after(0), "and then without a limit, should Redis's clock have been set")

		c := claimOne(t, mine)
		lapse(t, mine, c)
		require.NoError(t, other.sweep(t.Context()))
		c = claimOne(t, other)
		require.Equal(t, id, c.ID, "a call in time returns it")

		lapse(t, other, c)
		require.NoError(t, mine.sweep(t.Context())) // it is the first to see the lapse
		again := claimOne(t, mine)
		lapse(t, mine, again)
		late(t, other)
		require.NoError(t, other.sweep(t.Context()))
		require.NoError(t, mine.sweep(t.Context()))
		require.NoError(t, again.ctx.Err(), "it is renewed late, and still its own")
	})
}

func TestRedisClockGoesOn(t *testing.T) {
	t.Parallel()
	var c redisClock
	require.Empty(t, c.after(time.Second))
	c.learn(time.Now().Add(-10*time.Second), 5)
	after, err := strconv.ParseFloat(c.after(time.Second), 64)
	require.NoError(t, err)
	require.InDelta(t, 16, after, 5)
	require.GreaterOrEqual(t, after, 16.0)
	c.forget()
	require.Empty(t, c.after(time.Second))
}

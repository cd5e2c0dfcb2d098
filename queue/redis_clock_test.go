package queue

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// late makes the calls of a lane arrive at Redis long after they were given up.
func late(t *testing.T, l *lane) {
	t.Helper()
	require.NotEmpty(t, l.clock.after(0), "its first sweep has told it what Redis's clock shows")
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	l.clock.shown -= 60
}

// BR-58: Redis stood still for so long that leases lapsed, and carries out what had been sent to
// it meanwhile and given up by its senders. Such a call takes no message, and takes none from a
// replica that had no chance to renew its lease.
func TestBR58CallsThatWereGivenUpTouchNoMessage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		mine, other := replica(t, r, nil, nil0), replica(t, r, nil, nil0)
		require.NoError(t, other.steps.sweep(t.Context()))
		id := add(t, mine)

		late(t, other.steps)
		left, err := other.steps.claim()
		require.NoError(t, err)
		require.NotZero(t, left, "the caller looks again")
		require.Nil(t, other.steps.fromBuffer())
		require.Empty(t, other.steps.clock.after(0), "and then without a limit, should Redis's clock have been set")

		c := takeOne(t, mine.steps)
		lapse(t, mine.steps, c)
		require.NoError(t, other.steps.sweep(t.Context()))
		c = takeOne(t, other.steps)
		require.Equal(t, id, c.id, "a call in time returns it")

		lapse(t, other.steps, c)
		require.NoError(t, mine.steps.sweep(t.Context())) // it is the first to see the lapse
		again := takeOne(t, mine.steps)
		lapse(t, mine.steps, again)
		late(t, other.steps)
		require.NoError(t, other.steps.sweep(t.Context()))
		require.NoError(t, mine.steps.sweep(t.Context()))
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

package lane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A process leaves the sweeps of a queue to the leader, which sweeps for all, for a minute at a time. It sweeps by
// itself as soon as there is no sign of a leader, and whenever it has a lease to renew or learns of a message that is
// due.
func TestSweepsAreLeftToTheLeader(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	relieved := true
	l := replica(t, r, nil)
	l.cfg.Relieved = func() bool { return relieved }
	require.False(t, l.isRelieved(time.Time{}), "the first one looks at what there is")
	now := time.Now()
	require.True(t, l.isRelieved(now))
	require.False(t, l.isRelieved(now.Add(-time.Minute)), "now and then")
	relieved = false
	require.False(t, l.isRelieved(now))
	relieved = true

	l.due.note(world.MillisOf(now.Add(time.Hour)))
	require.True(t, l.isRelieved(now))
	l.due.note(world.MillisOf(now))
	require.False(t, l.isRelieved(now))
	require.NoError(t, l.sweep(t.Context()))
	require.True(t, l.isRelieved(now))

	add(t, l)
	c := claimOne(t, l)
	require.False(t, l.isRelieved(now))
	l.drop(c)
	require.True(t, l.isRelieved(now))
}

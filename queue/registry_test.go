package queue_test

import (
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// Clients send their registration with every message; an unchanged one is not written again. One that was not renewed
// for thirty days is forgotten.
func TestRegistrationIsCheapAndEnds(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	clock := worldtest.TickingClock(time.Millisecond)
	c := config(r, newApp(nil))
	c.Clock = clock
	q := newQueue(t, r.Client, c)
	one := world.App{BaseURL: "http://one", DeploymentID: "dpl_1", SDK: "v4"}
	two := world.App{BaseURL: "http://two", DeploymentID: "dpl_2", SDK: "v5"}
	register(t, q, one)
	registered := clock.Now()
	apps, err := q.ListApps(t.Context())
	require.NoError(t, err)
	seenAt := apps[0].SeenAt
	clock.Add(4 * time.Second)
	register(t, q, one)
	apps, err = q.ListApps(t.Context())
	require.NoError(t, err)
	require.Equal(t, seenAt, apps[0].SeenAt)
	clock.Add(4 * time.Second)
	register(t, q, one)
	apps, err = q.ListApps(t.Context())
	require.NoError(t, err)
	require.Greater(t, apps[0].SeenAt.Time().Sub(registered), 7*time.Second)
	clock.Add(31 * 24 * time.Hour)
	register(t, q, two)
	apps, err = q.ListApps(t.Context())
	require.NoError(t, err)
	require.Len(t, apps, 1)
	two.SeenAt, two.Alive = apps[0].SeenAt, true
	two.AliveUntil = two.SeenAt + world.Millis((30 * 24 * time.Hour).Milliseconds())
	require.Equal(t, two, apps[0])

	for _, bad := range []string{"", "localhost:3000", "ftp://x", "http://", "http://a b"} {
		require.Equal(t, world.CodeInvalid, world.ErrorCode(q.RegisterApp(t.Context(), world.App{BaseURL: bad})), bad)
	}
	var names map[string]string
	names, err = r.Client.HGetAll(t.Context(), r.Prefix+"apps").Result()
	require.NoError(t, err)
	require.Len(t, names, 1)
	for field, value := range names {
		require.Equal(t, "dpl_2\nhttp://two", field)
		require.NoError(t, cbor.Wellformed([]byte(value)))
	}
}

// A process that only enqueues registers nothing and so never becomes a target.
func TestOnlyEnqueuingMakesNoTarget(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	c := config(r, newApp(nil))
	c.BaseURL = ""
	q := newQueue(t, r.Client, c)
	enqueue(t, q, flow("wrun_1"))
	apps, err := q.ListApps(t.Context())
	require.NoError(t, err)
	require.Empty(t, apps)
}

package lane

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// all is everything that Redis stores of a queue.
func all(t *testing.T, r *redistest.Redis, l *Lane, id string) map[string]any {
	t.Helper()
	k := &l.Keys
	out := map[string]any{}
	task, err := r.Client.HGetAll(t.Context(), k.Task+id).Result()
	require.NoError(t, err)
	out["task"] = task
	for _, list := range []string{k.Pending, k.Active} {
		out[list], err = r.Client.LRange(t.Context(), list, 0, -1).Result()
		require.NoError(t, err)
	}
	for _, set := range []string{k.Lease, k.Scheduled, k.Retry, k.Archived} {
		out[set], err = r.Client.ZRangeWithScores(t.Context(), set, 0, -1).Result()
		require.NoError(t, err)
	}
	out["keys"], err = r.Client.HGetAll(t.Context(), k.Idempotency).Result()
	require.NoError(t, err)
	return out
}

// A replica was paused until its lease had lapsed and another one had begun the message. Its late outcomes, whether
// done, failed or rescheduled, change nothing.
func TestLateOutcomesOfAPausedReplicaChangeNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		paused, healthy := replica(t, r, nil), replica(t, r, nil)
		id := add(t, paused)
		old := claimOne(t, paused)
		lapse(t, paused, old)
		require.NoError(t, healthy.sweep(t.Context()))
		now := claimOne(t, healthy)
		require.Equal(t, id, now.ID)
		before := all(t, r, healthy, id)
		for _, s := range []Disposition{Done, Dead, Failed, Rescheduled, WaitingForApp, Released, Throttled} {
			for _, due := range []world.Millis{0, paused.now() + 3_600_000} {
				ours, err := paused.write(t.Context(), old, Decision{Disposition: s, Due: due, Reason: "late", App: "http://app", Hold: time.Second})
				require.NoError(t, err)
				require.False(t, ours, s)
				require.Equal(t, before, all(t, r, healthy, id), s)
			}
		}
		// Its own upkeep notices it, and does not renew the other one's lease.
		require.NoError(t, paused.sweep(t.Context()))
		require.ErrorIs(t, context.Cause(old.ctx), ErrLeaseLost)
		require.Equal(t, before, all(t, r, healthy, id))
		require.NoError(t, now.ctx.Err())
	})
}

// A replica was paused for long between claiming a message and delivering it. It delivers the message only if it still
// has the lease.
func TestALeaseInDoubtIsChecked(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		paused, healthy := replica(t, r, nil), replica(t, r, nil)
		add(t, paused)
		old := claimOne(t, paused)
		old.held = old.held.Add(-time.Minute)
		ours, err := paused.Begin(old, "http://app", false)
		require.NoError(t, err)
		require.True(t, ours, "no other replica has claimed it")
		lapse(t, paused, old)
		require.NoError(t, healthy.sweep(t.Context()))
		now := claimOne(t, healthy)
		ours, err = paused.Begin(old, "http://app", false)
		require.NoError(t, err)
		require.False(t, ours)
		ours, err = healthy.Begin(now, "http://app", false)
		require.NoError(t, err)
		require.True(t, ours)
	})
}

// A message is active but has no lease, among a thousand that have one: it is found within a few sweeps, a few seconds
// each, and delivered.
func TestActiveMessageWithoutALeaseIsFound(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		l := replica(t, r, nil)
		id := add(t, l)
		c := claimOne(t, l)
		l.drop(c)
		require.NoError(t, r.Client.ZRem(t.Context(), l.Keys.Lease, id).Err())
		var others []any
		var leases []redis.Z
		for i := range 1200 {
			name := "msg_" + string(rune('a'+i%26)) + time.Duration(i).String()
			others = append(others, name)
			leases = append(leases, redis.Z{Score: 4_000_000_000.5, Member: name})
		}
		require.NoError(t, r.Client.LPush(t.Context(), l.Keys.Active, others...).Err())
		require.NoError(t, r.Client.ZAdd(t.Context(), l.Keys.Lease, leases...).Err())
		require.NoError(t, l.sweep(t.Context()))
		require.NoError(t, l.sweep(t.Context()))
		n, err := r.Client.LLen(t.Context(), l.Keys.Pending).Result()
		require.NoError(t, err)
		require.Zero(t, n, "two sweeps look at a thousand")
		require.NoError(t, l.sweep(t.Context()))
		require.Equal(t, id, claimOne(t, l).ID)
		require.Zero(t, l.lookFrom, "and then from the start")
		active, err := r.Client.LLen(t.Context(), l.Keys.Active).Result()
		require.NoError(t, err)
		require.Equal(t, int64(1201), active)
	})
}

// The clocks of two replicas differ by hours: neither takes messages from the other, and a lease that has lapsed has
// lapsed for both.
func TestLeasesDoNotDependOnTheReplicasClocks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		clocks := []world.Clock{worldtest.SkewedClock(-3 * time.Hour), worldtest.SkewedClock(3 * time.Hour)}
		for i := range clocks {
			mine, other := replica(t, r, clocks[i]), replica(t, r, clocks[1-i])
			add(t, mine)
			c := claimOne(t, mine)
			require.NoError(t, other.sweep(t.Context()))
			require.NoError(t, mine.sweep(t.Context()))
			require.NoError(t, other.sweep(t.Context()))
			require.NoError(t, c.ctx.Err())
			lapse(t, mine, c)
			require.NoError(t, other.sweep(t.Context()))
			next := claimOne(t, other)
			require.Equal(t, c.ID, next.ID)
			other.Finish(next, Decision{Disposition: Done})
		}
	})
}

// Redis learns the app of a long delivery without a separate call.
func TestSweepNotesTheAppOfADelivery(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		l := replica(t, r, nil)
		id := add(t, l)
		c := claimOne(t, l)
		app := func() string {
			name, err := r.Client.HGet(t.Context(), l.Keys.Task+id, "app").Result()
			if err != nil {
				require.ErrorIs(t, err, redis.Nil)
			}
			return name
		}
		ours, err := l.Begin(c, "http://one", false)
		require.NoError(t, err)
		require.True(t, ours)
		require.Empty(t, app(), "the only app there is costs no call")
		require.NoError(t, l.sweep(t.Context()))
		require.Equal(t, "http://one", app())
		ours, err = l.Begin(c, "http://two", true)
		require.NoError(t, err)
		require.True(t, ours)
		require.Equal(t, "http://two", app())
		l.Finish(c, Decision{Disposition: Rescheduled})
		require.Empty(t, app(), "an answer ends it")
	})
}

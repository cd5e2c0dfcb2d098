package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// deliverer is a function as a world.Deliverer.
type deliverer func(d world.Delivery) world.Outcome

func (f deliverer) Deliver(_ context.Context, d world.Delivery) world.Outcome { return f(d) }

// replica is a queue that does only what the test tells it to, like a process that is paused
// at any point.
func replica(t *testing.T, r *redistest.Redis, clock world.Clock, deliver deliverer) *Queue {
	t.Helper()
	q, err := New(t.Context(), r.Client, Config{
		KeyPrefix: r.Prefix, JobPrefix: strings.TrimSuffix(r.Prefix, ":") + "_", BaseURL: "http://app", Clock: clock, Deliverer: deliver,
	})
	require.NoError(t, err)
	return q
}

func add(t *testing.T, q *Queue) string {
	t.Helper()
	id, err := q.Enqueue(t.Context(), world.Message{
		QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_1", StepID: "step_1", IdempotencyKey: "step_1",
	})
	require.NoError(t, err)
	return id
}

// takeOne takes the only message there is.
func takeOne(t *testing.T, l *lane) *claim {
	t.Helper()
	_, err := l.claim()
	require.NoError(t, err)
	c := l.fromBuffer()
	require.NotNil(t, c)
	l.received(c.id)
	return c
}

// lapse makes the lease of a message lapse, as if its owner had been paused for so long.
func lapse(t *testing.T, l *lane, c *claim) {
	t.Helper()
	require.NoError(t, l.q.redis.ZAdd(t.Context(), l.keys.lease, redis.Z{Score: 1, Member: c.id}).Err())
	c.held = c.held.Add(-time.Minute)
}

// all is everything that Redis holds of a queue.
func all(t *testing.T, r *redistest.Redis, l *lane, id string) map[string]any {
	t.Helper()
	k := &l.keys
	out := map[string]any{}
	task, err := r.Client.HGetAll(t.Context(), k.task+id).Result()
	require.NoError(t, err)
	out["task"] = task
	for _, list := range []string{k.pending, k.active} {
		out[list], err = r.Client.LRange(t.Context(), list, 0, -1).Result()
		require.NoError(t, err)
	}
	for _, set := range []string{k.lease, k.scheduled, k.retry, k.archived} {
		out[set], err = r.Client.ZRangeWithScores(t.Context(), set, 0, -1).Result()
		require.NoError(t, err)
	}
	out["keys"], err = r.Client.HGetAll(t.Context(), k.idempotency).Result()
	require.NoError(t, err)
	return out
}

// A replica was paused until its lease had lapsed and another one had begun the message.
// Whatever it says then, an answer, a failure, a reschedule, changes nothing.
func TestPausedReplicaHasNoSay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		paused, healthy := replica(t, r, nil, nil0), replica(t, r, nil, nil0)
		id := add(t, paused)
		old := takeOne(t, paused.steps)
		lapse(t, paused.steps, old)
		require.NoError(t, healthy.steps.sweep(t.Context()))
		now := takeOne(t, healthy.steps)
		require.Equal(t, id, now.id)
		before := all(t, r, healthy.steps, id)
		for _, s := range []disposition{dispositionDone, dispositionDead, dispositionFailed, dispositionRescheduled, dispositionWaitingForApp, dispositionReleased, dispositionThrottled} {
			for _, due := range []world.Millis{0, paused.dueIn(time.Hour)} {
				ours, err := paused.steps.write(t.Context(), old, outcome{disposition: s, due: due, reason: "late", app: "http://app", hold: time.Second})
				require.NoError(t, err)
				require.False(t, ours, s)
				require.Equal(t, before, all(t, r, healthy.steps, id), s)
			}
		}
		// Its own upkeep tells it so, and does not renew the other one's lease.
		require.NoError(t, paused.steps.sweep(t.Context()))
		require.ErrorIs(t, context.Cause(old.ctx), errLeaseLost)
		require.Equal(t, before, all(t, r, healthy.steps, id))
		require.NoError(t, now.ctx.Err())
	})
}

// A replica was paused between taking a message and delivering it, and goes on when the
// message is somebody else's: it delivers no further copy.
func TestPausedReplicaDeliversNoThirdCopy(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var copies []string
		done := func(name string) deliverer {
			return func(world.Delivery) world.Outcome {
				copies = append(copies, name)
				return world.Outcome{Verdict: world.Done}
			}
		}
		paused, healthy := replica(t, r, nil, done("paused")), replica(t, r, nil, done("healthy"))
		add(t, paused)
		old := takeOne(t, paused.steps)
		lapse(t, paused.steps, old)
		require.NoError(t, healthy.steps.sweep(t.Context()))
		now := takeOne(t, healthy.steps)

		m := world.Message{QueueName: "__wkf_step_x", RunID: "wrun_1"}
		o, _ := paused.steps.deliver(old, m, nil)
		require.Equal(t, dispositionLost, o.disposition)
		o, _ = healthy.steps.deliver(now, m, nil)
		require.Equal(t, dispositionDone, o.disposition)
		require.Equal(t, []string{"healthy"}, copies)

		// Paused for long, but nobody has taken its message: then it goes on.
		again := takeAfter(t, healthy.steps, now)
		again.held = again.held.Add(-time.Minute)
		o, _ = healthy.steps.deliver(again, m, nil)
		require.Equal(t, dispositionDone, o.disposition)
	})
}

// takeAfter ends a message and takes the next one.
func takeAfter(t *testing.T, l *lane, c *claim) *claim {
	t.Helper()
	l.finish(c, outcome{disposition: dispositionDone})
	add(t, l.q)
	return takeOne(t, l)
}

// A message is active but has no lease, in the midst of a thousand that have one: it is
// found within a few sweeps, a few seconds each, and delivered.
func TestActiveMessageWithoutALeaseIsFound(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		l := q.steps
		id := add(t, q)
		c := takeOne(t, l)
		l.drop(c)
		require.NoError(t, r.Client.ZRem(t.Context(), l.keys.lease, id).Err())
		var others []any
		var leases []redis.Z
		for i := range 1200 {
			name := "msg_" + string(rune('a'+i%26)) + time.Duration(i).String()
			others = append(others, name)
			leases = append(leases, redis.Z{Score: 4_000_000_000.5, Member: name})
		}
		require.NoError(t, r.Client.LPush(t.Context(), l.keys.active, others...).Err())
		require.NoError(t, r.Client.ZAdd(t.Context(), l.keys.lease, leases...).Err())
		require.NoError(t, l.sweep(t.Context()))
		require.NoError(t, l.sweep(t.Context()))
		n, err := r.Client.LLen(t.Context(), l.keys.pending).Result()
		require.NoError(t, err)
		require.Zero(t, n, "two sweeps look at a thousand")
		require.NoError(t, l.sweep(t.Context()))
		require.Equal(t, id, takeOne(t, l).id)
		require.Zero(t, l.lookFrom, "and then from the start")
		active, err := r.Client.LLen(t.Context(), l.keys.active).Result()
		require.NoError(t, err)
		require.Equal(t, int64(1201), active)
	})
}

// The clocks of two replicas differ by hours: neither takes the other one's messages away,
// and a lease that has lapsed has lapsed for both.
func TestLeasesDoNotDependOnTheReplicasClocks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		clocks := []world.Clock{worldtest.SkewedClock(-3 * time.Hour), worldtest.SkewedClock(3 * time.Hour)}
		for i := range clocks {
			mine, other := replica(t, r, clocks[i], nil0), replica(t, r, clocks[1-i], nil0)
			add(t, mine)
			c := takeOne(t, mine.steps)
			require.NoError(t, other.steps.sweep(t.Context()))
			require.NoError(t, mine.steps.sweep(t.Context()))
			require.NoError(t, other.steps.sweep(t.Context()))
			require.NoError(t, c.ctx.Err())
			lapse(t, mine.steps, c)
			require.NoError(t, other.steps.sweep(t.Context()))
			next := takeOne(t, other.steps)
			require.Equal(t, c.id, next.id)
			other.steps.finish(next, outcome{disposition: dispositionDone})
		}
	})
}

// Redis learns without a call of its own which app a long delivery was begun with.
func TestSweepNotesTheAppOfADelivery(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		l := q.steps
		id := add(t, q)
		c := takeOne(t, l)
		app := func() string {
			name, err := r.Client.HGet(t.Context(), l.keys.task+id, "app").Result()
			if err != nil {
				require.ErrorIs(t, err, redis.Nil)
			}
			return name
		}
		ours, err := l.begin(c, "http://one", false)
		require.NoError(t, err)
		require.True(t, ours)
		require.Empty(t, app(), "the only app there is costs no call")
		require.NoError(t, l.sweep(t.Context()))
		require.Equal(t, "http://one", app())
		ours, err = l.begin(c, "http://two", true)
		require.NoError(t, err)
		require.True(t, ours)
		require.Equal(t, "http://two", app())
		l.finish(c, outcome{disposition: dispositionRescheduled})
		require.Empty(t, app(), "an answer ends it")
	})
}

func nil0(world.Delivery) world.Outcome { return world.Outcome{} }

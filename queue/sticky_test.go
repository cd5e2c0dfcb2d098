package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

var (
	appA = world.App{BaseURL: "http://a", DeploymentID: "dpl_1"}
	appB = world.App{BaseURL: "http://b", DeploymentID: "dpl_1"}
)

func (a *app) wentTo() []string {
	var to []string
	for _, d := range a.seen() {
		to = append(to, d.BaseURL)
	}
	return to
}

// BR-30: a delivery breaks. The app may still work on it, so the message goes to the same app again, although another
// one of the deployment is newer; after an answer it goes to the newest.
func TestBrokenDeliveryGoesToTheSameApp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		registered := make(chan struct{})
		outcomes := inTurn(
			world.Outcome{Verdict: world.Unreachable, Sent: true, Reason: "EOF"},
			world.Outcome{Verdict: world.Failed, Status: 500, Reason: "no"},
		)
		a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
			<-registered
			return outcomes(ctx, d)
		})
		c := config(r, a)
		c.Clock = worldtest.TickingClock(time.Millisecond)
		q := run(t, newQueue(t, r.Client, c))
		register(t, q.Queue, appA)
		id := enqueue(t, q, ofDeployment("dpl_1"))
		a.await(t, 1)
		register(t, q.Queue, appB)
		close(registered)
		a.await(t, 2)
		require.Equal(t, []string{"http://a", "http://a", "http://b"}, a.wentTo())
		require.Equal(t, []int{1, 2, 2}, a.attempts(id))
		requireQuiet(t, r)
	})
}

// The app that began the delivery is gone: another one gets the message.
func TestBrokenDeliveryGoesElsewhereWhenItsAppIsGone(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var began atomic.Bool
	registered := make(chan struct{})
	a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
		switch {
		case d.BaseURL == "http://b":
			return world.Outcome{Verdict: world.Done}
		case began.Swap(true):
			return unreachable
		default:
			<-registered
			return world.Outcome{Verdict: world.Unreachable, Sent: true, Reason: "EOF"}
		}
	})
	c := config(r, a)
	c.Clock, c.Backoff.Quick = worldtest.TickingClock(time.Millisecond), []time.Duration{}
	q := run(t, newQueue(t, r.Client, c))
	register(t, q.Queue, appA)
	enqueue(t, q, ofDeployment("dpl_1"))
	a.await(t, 1)
	register(t, q.Queue, appB)
	close(registered)
	a.await(t, 2)
	require.Equal(t, []string{"http://a", "http://a", "http://b"}, a.wentTo())
	requireQuiet(t, r)
}

// BR-30: a replica is killed during a delivery. Another one delivers the message to the app that has it already.
func TestMessageOfAKilledReplicaGoesToTheSameApp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		link := newLink(t, r)
		release := make(chan struct{})
		first := newApp(untilReleased(release))
		c := config(r, first)
		c.Clock = worldtest.TickingClock(time.Millisecond)
		q1 := run(t, newQueue(t, link.UniversalClient, c))
		register(t, q1.Queue, appB)
		register(t, q1.Queue, appA)
		id := enqueue(t, q1, ofDeployment("dpl_1"))
		require.Equal(t, "http://a", first.goesTo(t))
		link.sever()

		second := newApp(always(world.Outcome{Verdict: world.Done}))
		c.Deliverer = second
		other := newQueue(t, r.Client, c)
		register(t, other, appB) // is the newest now
		lease := "asynq:{" + c.JobPrefix + "steps}:lease"
		require.NoError(t, r.Client.ZAdd(t.Context(), lease, redis.Z{Score: 1, Member: id}).Err())
		run(t, other)
		require.Equal(t, "http://a", second.goesTo(t))
		require.Equal(t, []int{2}, second.attempts(id))
		requireQuiet(t, r)
		close(release)
		link.mend()
		q1.stop()
		requireQuiet(t, r)
	})
}

// BR-30: the service stops during a long step. The message is the first one that another replica claims; it goes to the
// same app, after that app had time to notice the cut.
func TestCutDeliveryWaitsUntilTheAppHasNoticed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(untilReleased(nil))
		c := config(r, a)
		c.Clock, c.ShutdownGrace = worldtest.TickingClock(time.Millisecond), 10*time.Millisecond
		q := run(t, newQueue(t, r.Client, c))
		register(t, q.Queue, appB)
		register(t, q.Queue, appA)
		id := enqueue(t, q, ofDeployment("dpl_1"))
		require.Equal(t, "http://a", a.goesTo(t))
		before := time.Now()
		q.stop()

		second := newApp(always(world.Outcome{Verdict: world.Done}))
		c.Deliverer = second
		other := newQueue(t, r.Client, c)
		register(t, other, appB)
		run(t, other)
		require.Equal(t, "http://a", second.goesTo(t))
		require.Equal(t, []int{2}, second.attempts(id))
		require.GreaterOrEqual(t, second.times[0].Sub(before), 500*time.Millisecond)
		requireQuiet(t, r)
	})
}

package queue_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// BR-22: a slow app with a thousand waiting messages and a fast one: the messages of the fast one are delivered before
// any of the slow one's has ended. No message of the slow one is lost, charged, or delivered beyond its slots.
func TestSlowAppStarvesNobody(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	const share, waiting = 16, 1000 // of 20 slots
	release := make(chan struct{})
	var now, most, slow atomic.Int64
	fast := make(chan struct{}, 100)
	a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
		if d.BaseURL == "http://fast" {
			fast <- struct{}{}
			return world.Outcome{Verdict: world.Done}
		}
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		o := untilReleased(release)(ctx, d)
		slow.Add(1)
		return o
	})
	c := config(r, a)
	q := newQueue(t, r.Client, c)
	register(t, q, world.App{BaseURL: "http://fast", DeploymentID: "dpl_fast"})
	register(t, q, world.App{BaseURL: "http://slow", DeploymentID: "dpl_slow"})
	fill(t, q, waiting, func(i int) world.Message {
		m := stepOf("wrun_1", "step_"+strconv.Itoa(i))
		m.DeploymentID = "dpl_slow"
		return m
	})
	work := run(t, q)
	require.Eventually(t, func() bool { return now.Load() == share }, patience, time.Millisecond)
	for i := range 50 {
		m := stepOf("wrun_2", "step_"+strconv.Itoa(i))
		m.DeploymentID = "dpl_fast"
		enqueue(t, work, m)
	}
	tooLong := time.After(3 * patience) // for all that is set aside before them
	for range 50 {
		select {
		case <-fast:
		case <-tooLong:
			require.FailNow(t, "the fast app's messages wait for the slow app's")
		}
	}
	require.Zero(t, slow.Load())
	require.Equal(t, int64(share), now.Load())
	close(release)
	requireQuiet(t, r)
	require.Equal(t, int64(waiting), slow.Load())
	require.LessOrEqual(t, most.Load(), int64(share))
	for _, d := range a.seen() {
		require.Equal(t, 1, d.Attempt)
	}
	require.Len(t, a.seen(), waiting+50, "what is set aside is not delivered again and again")
}

// A throttled message is delivered as soon as its app has capacity, and not only at the next look: the app's capacity
// is used until the end.
func TestThrottledMessagesUseTheCapacityOfTheirApp(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	tickets := make(chan struct{})
	a := newApp(func(ctx context.Context, _ world.Delivery) world.Outcome {
		select {
		case <-tickets:
		case <-ctx.Done():
		}
		return world.Outcome{Verdict: world.Done}
	})
	c := config(r, a)
	c.Clock, c.AppConcurrency = worldtest.StoppedClock(time.Now()), 3 // it is never time to look at them again
	q := run(t, newQueue(t, r.Client, c))
	const waiting = 60
	for i := range waiting {
		enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i)))
	}
	a.await(t, 3)
	for i := range waiting {
		tickets <- struct{}{}
		if i < waiting-3 {
			a.await(t, 1)
		}
	}
	requireQuiet(t, r)
	require.Len(t, a.seen(), waiting)
}

// A single app has all slots, also when the other apps are no longer alive.
func TestSingleAppHasAllSlots(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	release := make(chan struct{})
	a := newApp(untilReleased(release))
	c := config(r, a)
	c.Clock = worldtest.TickingClock(time.Millisecond)
	q := newQueue(t, r.Client, c)
	register(t, q, world.App{BaseURL: "http://gone", DeploymentID: "dpl_1", Lease: time.Minute})
	skip(c, 2*time.Minute)
	register(t, q, world.App{BaseURL: "http://here", DeploymentID: "dpl_2"})
	work := run(t, q)
	for i := range 20 {
		enqueue(t, work, stepOf("wrun_1", "step_"+strconv.Itoa(i)))
	}
	a.await(t, 20)
	close(release)
	requireQuiet(t, r)
}

// A message that one replica throttles is delivered by another one with capacity for the app, immediately and not only
// at the next look: by one that starts, by an idle one, and by one in which a delivery to the app ends.
func TestThrottledMessagesGoToAReplicaWithCapacity(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		const share = 3
		begin := func(tickets chan struct{}) (*app, running) {
			a := newApp(func(context.Context, world.Delivery) world.Outcome {
				<-tickets
				return world.Outcome{Verdict: world.Done}
			})
			c := config(r, a)
			c.Clock, c.AppConcurrency = worldtest.StoppedClock(time.Now()), share // it is never time to look at them again
			return a, run(t, newQueue(t, r.Client, c))
		}
		ticketsOne, ticketsTwo := make(chan struct{}), make(chan struct{})
		one, q := begin(ticketsOne)
		sent := 0
		send := func(n int) {
			for range n {
				enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(sent)))
				sent++
			}
		}
		aside := r.Prefix + "queue:{" + strings.TrimSuffix(r.Prefix, ":") + "_steps}:crowded:"
		send(20)
		one.await(t, share)
		require.Eventually(t, func() bool {
			keys, err := r.Keys(t.Context(), aside+"*")
			return err == nil && len(keys) == 1 && r.Client.ZCard(t.Context(), keys[0]).Val() == 20-share
		}, patience, time.Millisecond)

		two, _ := begin(ticketsTwo)
		two.await(t, share)
		for range 20 - 2*share {
			ticketsTwo <- struct{}{}
			two.await(t, 1)
		}
		for range share {
			ticketsOne <- struct{}{}
			ticketsTwo <- struct{}{}
		}
		requireQuiet(t, r)

		// Both have capacity. However the messages are shared, both deliver as many as they may.
		for range 5 {
			send(2 * share)
			one.await(t, share)
			two.await(t, share)
			for range share {
				ticketsOne <- struct{}{}
				ticketsTwo <- struct{}{}
			}
			requireQuiet(t, r)
		}
		require.Len(t, append(one.seen(), two.seen()...), sent)
	})
}

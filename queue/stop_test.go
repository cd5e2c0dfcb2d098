package queue_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// When the queue stops, running deliveries finish, no new one begins, and the other messages stay queued.
func TestStopLetsDeliveriesEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(untilReleased(release))
		c := config(r, a)
		c.StepConcurrency = 3
		q := run(t, newQueue(t, r.Client, c))
		for i := range 10 {
			enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i)))
		}
		a.await(t, 3)
		stopped := make(chan struct{})
		go func() { defer close(stopped); q.stop() }()
		late := enqueue(t, q, flow("wrun_1"))
		close(release)
		<-stopped
		begun := len(a.seen())
		d, err := q.Depths(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(0), d[1].Active)
		require.Equal(t, int64(10), d[1].Pending+int64(begun-len(a.attempts(late))))

		second := newApp(always(world.Outcome{Verdict: world.Done}))
		start(t, r, second)
		requireQuiet(t, r)
		require.Equal(t, 11, begun+len(second.seen()), "each message was delivered once")
	})
}

// BR-30: the grace period is over: the delivery is cut and its message put back for the next process, uncharged.
func TestStopCutsDeliveriesAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(untilReleased(nil))
		c := config(r, a)
		c.ShutdownGrace = 10 * time.Millisecond
		q := run(t, newQueue(t, r.Client, c))
		step, wake := enqueue(t, q, stepOf("wrun_1", "step_1")), enqueue(t, q, wakeUp("wrun_1"))
		a.await(t, 2)
		q.stop()
		d, err := q.Depths(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int64{1, 0, 1, 0}, []int64{d[0].Pending, d[0].Active, d[1].Pending, d[1].Active})

		second := newApp(always(world.Outcome{Verdict: world.Done}))
		start(t, r, second)
		second.await(t, 2)
		require.Equal(t, []int{2}, second.attempts(step), "the first app has perhaps begun it")
		require.Equal(t, []int{2}, second.attempts(wake))
		requireQuiet(t, r)
	})
}

// A delivery that panics has failed; the queue continues.
func TestPanickingDeliveryIsAFailedOne(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
		if d.Attempt == 1 {
			panic("boom")
		}
		return world.Outcome{Verdict: world.Done}
	})
	c, said := config(r, a), &worldtest.Log{}
	c.Logger = said.Logger()
	q := run(t, newQueue(t, r.Client, c))
	id := enqueue(t, q, flow("wrun_1"))
	a.await(t, 2)
	require.Equal(t, []int{1, 2}, a.attempts(id))
	requireQuiet(t, r)
	require.Equal(t, 1, strings.Count(said.String(), "a delivery panicked"))
}

package queue_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

func durable(t *testing.T) (*redistest.Server, *redistest.Redis) {
	t.Helper()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	return s, &redistest.Redis{Client: redistest.Client(t, s.Addr), Addr: s.Addr, Prefix: "outage:", Mode: redisconn.Standalone}
}

// BR-58: Redis stops while a step runs, and the step ends before Redis is back: its result is stored then. The step
// does not run again, nothing is charged, and the queued messages continue by themselves.
func TestRedisStopsInTheMiddleOfADelivery(t *testing.T) {
	t.Parallel()
	s, r := durable(t)
	release := make(chan struct{})
	a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
		if d.StepID == "step_long" {
			return untilReleased(release)(ctx, d)
		}
		return world.Outcome{Verdict: world.Done}
	})
	c, said := config(r, a), &worldtest.Log{}
	c.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	q := run(t, newQueue(t, r.Client, c))
	long := enqueue(t, q, stepOf("wrun_1", "step_long"))
	a.await(t, 1)
	delayed := stepOf("wrun_1", "step_later")
	delayed.Delay = 300 * time.Millisecond
	later := enqueue(t, q, delayed)

	require.NoError(t, s.Stop())
	_, err := q.Enqueue(t.Context(), flow("wrun_1"))
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
	close(release)
	require.Eventually(t, func() bool { return said.Count("the outcome of a delivery waits for Redis") > 0 }, patience, time.Millisecond)
	require.NoError(t, s.Restart())

	a.await(t, 1)
	after := enqueue(t, q, flow("wrun_1"))
	a.await(t, 1)
	requireQuiet(t, r)
	for _, id := range []string{long, later, after} {
		require.Equal(t, []int{1}, a.attempts(id))
	}
	require.Equal(t, 1, said.Count("Redis does not answer the queue"))
	require.Equal(t, 1, said.Count("Redis answers the queue again"))
}

// BR-58: Redis is away while the service is idle; the first message afterwards is delivered.
func TestRedisStopsWhileIdle(t *testing.T) {
	t.Parallel()
	s, r := durable(t)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	q := start(t, r, a)
	enqueue(t, q, flow("wrun_1"))
	a.await(t, 1)
	for range 3 {
		require.NoError(t, s.Stop())
		require.NoError(t, s.Restart())
		require.Eventually(t, func() bool {
			_, err := q.Enqueue(context.Background(), flow("wrun_1"))
			return err == nil
		}, patience, 10*time.Millisecond)
		a.await(t, 1)
	}
	requireQuiet(t, r)
}

package queue

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// deliverer is a function as a world.Deliverer.
type deliverer func(d world.Delivery) world.Outcome

func (f deliverer) Deliver(_ context.Context, d world.Delivery) world.Outcome { return f(d) }

// replica is a queue that does only what the test does with it, like a process that is paused at any point.
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

// claimOne claims the only message there is.
func claimOne(t *testing.T, w *worker) *delivery {
	t.Helper()
	c, err := w.ClaimOne()
	require.NoError(t, err)
	require.NotNil(t, c)
	return &delivery{Claim: c}
}

// lapse ends the lease of a message, as if its owner had been paused for so long.
func lapse(t *testing.T, w *worker, d *delivery) {
	t.Helper()
	require.NoError(t, w.q.redis.ZAdd(t.Context(), w.Keys.Lease, redis.Z{Score: 1, Member: d.ID}).Err())
}

// A replica was paused between claiming a message and delivering it, and continues when another one has the message: it
// makes no further delivery.
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
		for _, url := range []string{"http://one", "http://two"} { // with several apps each delivery checks its lease
			require.NoError(t, paused.RegisterApp(t.Context(), world.App{BaseURL: url}))
		}
		add(t, paused)
		old := claimOne(t, paused.steps)
		lapse(t, paused.steps, old)
		sweep(t, healthy.steps)
		now := claimOne(t, healthy.steps)

		m := world.Message{QueueName: "__wkf_step_x", RunID: "wrun_1"}
		o, _ := paused.steps.deliver(old, m, nil)
		require.Equal(t, lane.Lost, o.Disposition)
		o, _ = healthy.steps.deliver(now, m, nil)
		require.Equal(t, lane.Done, o.Disposition)
		require.Equal(t, []string{"healthy"}, copies)
	})
}

// sweep is one sweep of a queue, for tests in which nothing is left for the next one.
func sweep(t *testing.T, w *worker) {
	t.Helper()
	_, err := w.Sweep(t.Context())
	require.NoError(t, err)
}

func nil0(world.Delivery) world.Outcome { return world.Outcome{} }

package queue

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// Redis carries out a claim, and its answer is lost: the messages are delivered, as first attempts, without waiting for
// the lease, which lasts years here. This holds whether go-redis sends the call again or the call fails.
func TestMessagesWhoseClaimIsNotAnsweredAreDelivered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for name, again := range map[string]bool{"sent again": true, "fails": false} {
			t.Run(name, func(t *testing.T) {
				r := *r
				r.Prefix = strings.TrimSuffix(r.Prefix, ":") + fmt.Sprint(again) + ":"
				d := redistest.NewDeaf(t, &r, ":paused", again) // a key that this call alone has
				deliveries := make(chan world.Delivery, 100)
				copied := r
				copied.Client = d
				q := replica(t, &copied, nil, func(d world.Delivery) world.Outcome {
					deliveries <- d
					return world.Outcome{Verdict: world.Done}
				})
				var claimed atomic.Int64
				d.Lost = func() {
					held := r.Client.ZRange(context.Background(), q.steps.Keys.Lease, 0, -1).Val()
					claimed.Add(int64(len(held)))
					for _, id := range held {
						r.Client.ZAddXX(context.Background(), q.steps.Keys.Lease, redis.Z{Score: 4_000_000_000, Member: id})
					}
				}
				stop := runUntilStopped(t, q)
				for i := 0; claimed.Load() < 3; i++ { // the answer to the claim of an empty list may be lost, too
					require.Less(t, i, 50)
					d.Lose.Store(1)
					_, _ = q.Enqueue(t.Context(), world.Message{ // it may be stored although it fails
						QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_1", StepID: fmt.Sprint("step_", i), IdempotencyKey: fmt.Sprint("step_", i),
					})
					select {
					case d := <-deliveries:
						require.Equal(t, fmt.Sprint("step_", i), d.StepID)
						require.Equal(t, 1, d.Attempt)
					case <-time.After(20 * time.Second):
						require.FailNow(t, "no delivery")
					}
				}
				stop()
				require.Empty(t, deliveries, "and none twice")
				require.Zero(t, r.Client.ZCard(t.Context(), q.steps.Keys.Lease).Val())
			})
		}
	})
}

// runUntilStopped runs a queue.
func runUntilStopped(t *testing.T, q *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Run(ctx) }()
	t.Cleanup(cancel)
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// The answer to an enqueue is lost, and go-redis sends it again. Redis already knows its request id by then, and this
// process still learns that there is a message.
func TestAMessageWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		d := redistest.NewDeaf(t, r, "}:request:", true)
		copied := *r
		copied.Client = d
		q := replica(t, &copied, nil, nil0)
		rung := q.steps.Rung()
		d.Lose.Store(1)
		id, err := q.Enqueue(t.Context(), world.Message{QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_1", StepID: "step", RequestID: "request"})
		require.NoError(t, err)
		require.Negative(t, d.Lose.Load(), "it was sent again")
		select {
		case <-rung:
		default:
			require.FailNow(t, "no worker looks at the queue")
		}
		require.Equal(t, id, claimOne(t, q.steps).ID)
	})
}

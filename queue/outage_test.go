package queue_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

func durable(t *testing.T) (*redistest.Server, *redistest.Redis) {
	t.Helper()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	return s, &redistest.Redis{Client: redistest.Client(t, s.Addr), Addr: s.Addr, Prefix: "outage:", Mode: redisconn.Standalone}
}

// Redis stops while a step runs, and the step ends before Redis is back: its result is
// stored then. It is not run again, nothing is charged, what was queued goes on by itself.
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
	c, said := config(r, a), &lines{}
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
	require.Eventually(t, func() bool { return said.count("the outcome of a delivery waits for Redis") > 0 }, patience, time.Millisecond)
	require.NoError(t, s.Restart())

	a.await(t, 1)
	after := enqueue(t, q, flow("wrun_1"))
	a.await(t, 1)
	requireQuiet(t, r)
	for _, id := range []string{long, later, after} {
		require.Equal(t, []int{1}, a.attempts(id))
	}
	require.Equal(t, 1, said.count("Redis does not answer the queue"))
	require.Equal(t, 1, said.count("Redis answers the queue again"))
}

// Redis is away while nothing happens; the first message afterwards is delivered.
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

// A replica dies without a word: another one delivers its messages again when the leases
// have lapsed, uncharged. What the dead one says later changes nothing.
func TestMessagesOfADeadReplicaAreDeliveredAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		// The connection of the first replica is cut, not the process: to the others it is dead.
		release := make(chan struct{})
		link := newLink(t, r)
		first := newApp(untilReleased(release))
		c, said := config(r, first), &lines{}
		c.Logger = said.logger()
		q1 := run(t, newQueue(t, link.UniversalClient, c))
		register(t, q1.Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1", SDK: "v4"})
		step := enqueue(t, q1, stepOf("wrun_1", "step_1"))
		running := enqueue(t, q1, wakeUp("wrun_1"))
		first.await(t, 2)
		parked := enqueue(t, q1, wakeUp("wrun_1"))
		require.NotEqual(t, running, parked)
		link.sever()

		second := newApp(always(world.Outcome{Verdict: world.Done}))
		q2 := start(t, r, second)
		second.await(t, 3)
		// What the first app has perhaps begun is not announced as new; nor is it charged.
		require.Equal(t, []int{2}, second.attempts(step))
		require.Equal(t, []int{2}, second.attempts(running))
		require.Equal(t, []int{1}, second.attempts(parked))
		requireQuiet(t, r)
		close(release)
		link.mend()
		require.Eventually(t, func() bool { return said.count("changes nothing") == 2 }, patience, time.Millisecond)
		q2.stop()
		q1.stop()
		requireQuiet(t, r)
	})
}

// The old owner of a message answers after another replica has taken it: fenced.
func TestLateAnswerOfAnOldOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release, released2 := make(chan struct{}), make(chan struct{})
		first := newApp(func(context.Context, world.Delivery) world.Outcome {
			<-release
			return world.Outcome{Verdict: world.Done}
		})
		c, said := config(r, first), &lines{}
		c.Logger = said.logger()
		q1 := run(t, newQueue(t, r.Client, c))
		id := enqueue(t, q1, stepOf("wrun_1", "step_1"))
		first.await(t, 1)
		// As if the lease had lapsed and the second replica had returned the message.
		prefix := "asynq:{" + c.JobPrefix + "steps}:"
		require.NoError(t, r.Client.ZAdd(t.Context(), prefix+"lease", redis.Z{Score: 1, Member: id}).Err())
		require.NoError(t, r.Client.HSet(t.Context(), prefix+"t:"+id, "owner", "nobody").Err())
		second := newApp(untilReleased(released2))
		q2 := start(t, r, second)
		for len(second.seen()) == 0 {
			select { // whichever replica takes it
			case <-second.arrived:
			case <-first.arrived:
				// The first one took its own message again; its late answer is fenced as well.
				close(release)
				close(released2)
				requireQuiet(t, r)
				return
			case <-time.After(patience):
				require.FailNow(t, "not delivered again")
			}
		}
		close(release)
		require.Eventually(t, func() bool { return said.count("changes nothing") == 1 }, patience, time.Millisecond)
		d, err := q2.Depths(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), d[1].Active, "the second delivery is not disturbed")
		require.Equal(t, enqueue(t, q2, stepOf("wrun_1", "step_1")), id, "nor is the key free")
		close(released2)
		requireQuiet(t, r)
	})
}

// Two replicas: what one accepts the other delivers, without asking Redis over and over.
// A hundred hops at the pace of the upkeep would take minutes.
func TestOneReplicaEnqueuesAnotherDelivers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		start(t, r, a)
		other := newQueue(t, r.Client, config(r, newApp(nil)))
		tooLong := time.After(3 * patience) // for all of them together
		for i := range 100 {
			m := stepOf("wrun_1", "step_"+strconv.Itoa(i))
			if i%10 == 0 {
				m.Delay = 20 * time.Millisecond
			}
			id := enqueue(t, other, m)
			select {
			case <-a.arrived:
			case <-tooLong:
				require.FailNow(t, "the other replica does not hear the doorbell", "%d hops were made", i)
			}
			require.Equal(t, []int{1}, a.attempts(id))
		}
		requireQuiet(t, r)
	})
}

// At the end, running deliveries finish; nothing new is begun; the rest stays queued.
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
		require.NoError(t, r.Client.Del(t.Context(), r.Prefix+"none").Err())

		second := newApp(always(world.Outcome{Verdict: world.Done}))
		start(t, r, second)
		requireQuiet(t, r)
		require.Equal(t, 11, begun+len(second.seen()), "each message was delivered once")
	})
}

// The grace period is over: the delivery is cut and its message put back for the next
// process, uncharged.
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

// A delivery that panics is a failed one; the queue goes on.
func TestPanickingDeliveryIsAFailedOne(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
		if d.Attempt == 1 {
			panic("boom")
		}
		return world.Outcome{Verdict: world.Done}
	})
	c, said := config(r, a), &lines{}
	c.Logger = said.logger()
	q := run(t, newQueue(t, r.Client, c))
	id := enqueue(t, q, flow("wrun_1"))
	a.await(t, 2)
	require.Equal(t, []int{1, 2}, a.attempts(id))
	requireQuiet(t, r)
	require.Equal(t, 1, strings.Count(said.text.String(), "a delivery panicked"))
}

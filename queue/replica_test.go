package queue_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// BR-29: a replica dies without a notice: another one delivers its messages again when the leases have lapsed,
// uncharged. Late outcomes of the dead one change nothing.
func TestMessagesOfADeadReplicaAreDeliveredAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		// The connection of the first replica is cut, not its process: for the others it is dead.
		release := make(chan struct{})
		link := newLink(t, r)
		first := newApp(untilReleased(release))
		c, said := config(r, first), &worldtest.Log{}
		c.Logger = said.Logger()
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
		// A message that the first app has perhaps begun is not announced as new; and it is not charged.
		require.Equal(t, []int{2}, second.attempts(step))
		require.Equal(t, []int{2}, second.attempts(running))
		require.Equal(t, []int{1}, second.attempts(parked))
		requireQuiet(t, r)
		close(release)
		link.mend()
		require.Eventually(t, func() bool { return said.Count("changes nothing") == 2 }, patience, time.Millisecond)
		q2.stop()
		q1.stop()
		requireQuiet(t, r)
	})
}

// The old owner of a message answers after another replica has claimed it: the answer is fenced off.
func TestLateAnswerOfAnOldOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release, released2 := make(chan struct{}), make(chan struct{})
		first := newApp(func(context.Context, world.Delivery) world.Outcome {
			<-release
			return world.Outcome{Verdict: world.Done}
		})
		c, said := config(r, first), &worldtest.Log{}
		c.Logger = said.Logger()
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
				// The first one claimed its own message again; its late answer is fenced off as well.
				close(release)
				close(released2)
				requireQuiet(t, r)
				return
			case <-time.After(patience):
				require.FailNow(t, "not delivered again")
			}
		}
		close(release)
		require.Eventually(t, func() bool { return said.Count("changes nothing") == 1 }, patience, time.Millisecond)
		d, err := q2.Depths(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), d[1].Active, "the second delivery is not disturbed")
		require.Equal(t, enqueue(t, q2, stepOf("wrun_1", "step_1")), id, "nor is the key free")
		close(released2)
		requireQuiet(t, r)
	})
}

// Two replicas: a message enqueued at one is delivered by the other, which does not poll Redis. A hundred hops at the
// interval of the upkeep would take minutes.
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
				require.FailNow(t, "the doorbell does not reach the other replica", "%d hops were made", i)
			}
			require.Equal(t, []int{1}, a.attempts(id))
		}
		requireQuiet(t, r)
	})
}

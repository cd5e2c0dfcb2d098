package queue_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue"
)

func outstanding(t testing.TB, q *queue.Queue, runID string) bool {
	t.Helper()
	got, err := q.Outstanding(context.Background(), []string{runID, "wrun_other"})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.False(t, got[1])
	return got[0]
}

// A run has an outstanding message from the call of queue() until it is delivered, however long it waits; a dead
// message does not count. Afterwards nothing of the run is left.
func TestRunIsOutstandingAsLongAsItHasMessages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
			switch {
			case d.StepID == "dead":
				return world.Outcome{Verdict: world.Failed, Reason: "no"}
			case d.Attempt == 1:
				return world.Outcome{Verdict: world.Reschedule, Delay: 20 * time.Millisecond}
			default:
				return untilReleased(release)(ctx, d)
			}
		})
		c := config(r, a)
		c.Backoff.DeadAfter = 1
		q := newQueue(t, r.Client, c)
		run1, strange := "wrun_1", "run of {strange} name:1"
		for _, id := range []string{run1, strange} {
			require.False(t, outstanding(t, q, id))
			delayed := flow(id)
			delayed.Delay = 20 * time.Millisecond
			enqueue(t, q, delayed)
			require.True(t, outstanding(t, q, id), "delayed")
		}
		enqueue(t, q, world.Message{QueueName: flowName}) // a health check belongs to no run
		dead := stepOf("wrun_dead", "dead")
		enqueue(t, q, dead)
		run(t, q)
		a.await(t, 7)
		require.True(t, outstanding(t, q, run1), "in flight")
		require.True(t, outstanding(t, q, strange))
		close(release)
		require.Eventually(t, func() bool { return !outstanding(t, q, run1) && !outstanding(t, q, strange) }, patience, time.Millisecond)
		require.Eventually(t, func() bool { return !outstanding(t, q, "wrun_dead") }, patience, time.Millisecond)
		keys, err := r.Keys(t.Context(), r.Prefix+"queue:*:of:*")
		require.NoError(t, err)
		require.Empty(t, keys)
		none, err := q.Outstanding(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

// The next message of a run is given by the time at which it is due, if it has one.
func TestNextDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
			if d.StepID == "sleeps" {
				return world.Outcome{Verdict: world.Reschedule, Delay: 3 * time.Hour}
			}
			return untilReleased(release)(ctx, d)
		})
		defer close(release)
		q := start(t, r, a)
		after := func(runID string) time.Duration {
			t.Helper()
			due, err := q.NextDue(t.Context(), []string{"wrun_none", runID})
			require.NoError(t, err)
			require.Zero(t, due[0])
			if due[1] == 0 {
				return 0
			}
			return time.Until(due[1].Time()).Round(time.Hour)
		}
		const longAgo = -1000 * time.Hour
		require.Zero(t, after("wrun_1"))
		delayed := inTwoHours(flow("wrun_1"))
		enqueue(t, q, delayed)
		require.Equal(t, 2*time.Hour, after("wrun_1"))
		delayed.Delay = time.Hour
		enqueue(t, q, delayed)
		require.Equal(t, time.Hour, after("wrun_1"))
		enqueue(t, q, stepOf("wrun_1", "stays"))
		require.Less(t, after("wrun_1"), longAgo)

		enqueue(t, q, stepOf("wrun_2", "sleeps"))
		require.Eventually(t, func() bool { return after("wrun_2") == 3*time.Hour }, patience, time.Millisecond)
		for range 20 {
			enqueue(t, q, inTwoHours(flow("wrun_3")))
		}
		require.Less(t, after("wrun_3"), longAgo, "with so many it is busy")
		none, err := q.NextDue(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

// inTwoHours delays a message by two hours.
func inTwoHours(m world.Message) world.Message {
	m.Delay = 2 * time.Hour
	return m
}

// Messages that are merged into others are removed from the list of their run, too.
func TestFoldedWakeUpsLeaveTheListOfTheirRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		later := func(n int) world.Outcome {
			return world.Outcome{Verdict: world.Reschedule, Delay: time.Duration(n) * time.Hour}
		}
		a := newApp(inTurn(later(2), later(3), later(1)))
		q := start(t, r, a)
		register(t, q.Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1", SDK: "v4"})
		var last string
		for range 3 {
			last = enqueue(t, q, wakeUp("wrun_1"))
			a.await(t, 1)
			require.Eventually(t, func() bool {
				d, err := q.Depths(context.Background())
				return err == nil && d[0].Active == 0 && d[0].Retry == 1
			}, patience, time.Millisecond)
		}
		ids, err := r.Client.SMembers(t.Context(), r.Prefix+"queue:{"+config(r, nil).JobPrefix+"flows}:of:wrun_1").Result()
		require.NoError(t, err)
		require.Equal(t, []string{last}, ids)
	})
}

// BR-12: a run is cancelled. All its messages are removed immediately, in every state, with their keys (BR-19).
// Messages of other runs stay.
func TestMessagesOfAnEndedRunGo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
			if d.StepID == "retry" {
				return world.Outcome{Verdict: world.Reschedule, Delay: time.Hour}
			}
			return untilReleased(release)(ctx, d)
		})
		c := config(r, a)
		c.StepConcurrency = 1
		q := run(t, newQueue(t, r.Client, c))
		register(t, q.Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1", SDK: "v4"})
		for _, id := range []string{"wrun_1", "wrun_2"} {
			enqueue(t, q, wakeUp(id)) // in flight
			a.await(t, 1)
			enqueue(t, q, wakeUp(id)) // parked behind it
			delayed := wakeUp(id)
			delayed.Delay, delayed.IdempotencyKey = 860*time.Second, "look-out"
			enqueue(t, q, delayed)
			waitingForApp := flow(id)
			waitingForApp.DeploymentID = "dpl_gone"
			enqueue(t, q, stepOf(id, "retry"))
			a.await(t, 1)
		}
		busy := enqueue(t, q, stepOf("wrun_2", "busy"))
		a.await(t, 1)
		var pending []string
		for i := range 300 { // more than one call of the script looks at
			pending = append(pending, enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i))))
		}
		enqueue(t, q, stepOf("wrun_2", "step_0"))
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].Scheduled == 4 && d[1].Retry == 2
		}, patience, time.Millisecond)

		q.ForgetRun("wrun_1")
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].Scheduled == 2 && d[1].Pending == 1 && d[1].Retry == 1 && d[0].Active == 2
		}, patience, time.Millisecond)
		require.True(t, outstanding(t, q.Queue, "wrun_1"), "one is in the app's hands")
		require.NotEqual(t, pending[0], enqueue(t, q, stepOf("wrun_1", "step_0")), "the key is free")
		q.ForgetRun("wrun_1")
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[1].Pending == 1
		}, patience, time.Millisecond)
		require.Equal(t, busy, enqueue(t, q, stepOf("wrun_2", "busy")), "the other run keeps its own")
		close(release)
		require.Eventually(t, func() bool { return !outstanding(t, q.Queue, "wrun_1") }, patience, time.Millisecond)
		q.ForgetRun("wrun_2")
		requireQuiet(t, r)
	})
}

// BR-12: the run ends during the delivery of one of its steps, and the step asks to be delivered again in an hour, or
// fails: it is not delivered again.
func TestDeliveryThatOutlivesItsRunIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
			<-release
			if d.StepID == "fails" {
				return world.Outcome{Verdict: world.Failed, Reason: "no"}
			}
			return world.Outcome{Verdict: world.Reschedule, Delay: time.Hour}
		})
		q := start(t, r, a)
		enqueue(t, q, stepOf("wrun_1", "fails"))
		enqueue(t, q, stepOf("wrun_1", "again"))
		a.await(t, 2)
		q.ForgetRun("wrun_1")
		steps := "asynq:{" + config(r, nil).JobPrefix + "steps}:"
		require.Eventually(t, func() bool {
			marked := 0
			ids, err := r.Client.LRange(context.Background(), steps+"active", 0, -1).Result()
			for _, id := range ids {
				if r.Client.HExists(context.Background(), steps+"t:"+id, "over").Val() {
					marked++
				}
			}
			return err == nil && marked == 2
		}, patience, time.Millisecond)
		close(release)
		requireQuiet(t, r)
		require.Len(t, a.seen(), 2)
	})
}

// Runs that ended just before a stop are still handled: their list is finished, not dropped.
func TestEndedRunsAreSeenToAtAStop(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	q := newQueue(t, r.Client, config(r, newApp(nil)))
	for i := range 200 {
		m := flow("wrun_" + strconv.Itoa(i))
		m.Delay = time.Hour
		enqueue(t, q, m)
		q.ForgetRun(m.RunID)
	}
	run(t, q).stop()
	require.Empty(t, leftovers(t, r))
}

// Messages of a version from before the lists of runs are delivered like others.
func TestMessageFromBeforeTheListsOfRunsIsDelivered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(inTurn(world.Outcome{Verdict: world.Failed, Reason: "no"}, world.Outcome{Verdict: world.Reschedule}))
		q := newQueue(t, r.Client, config(r, a))
		id := enqueue(t, q, stepOf("wrun_1", "step_1"))
		name := "{" + config(r, nil).JobPrefix + "steps}"
		require.Equal(t, int64(1), r.Client.HDel(t.Context(), "asynq:"+name+":t:"+id, "run").Val())
		require.Equal(t, int64(1), r.Client.Del(t.Context(), r.Prefix+"queue:"+name+":of:wrun_1").Val())
		run(t, q)
		a.await(t, 3)
		require.Equal(t, []int{1, 2, 3}, a.attempts(id))
		requireQuiet(t, r)
	})
}

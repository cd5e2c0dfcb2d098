package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue"
)

func wakeUp(runID string) world.Message {
	m := flow(runID)
	m.Plain = true
	return m
}

func register(t testing.TB, q *queue.Queue, a world.App) {
	t.Helper()
	require.NoError(t, q.RegisterApp(t.Context(), a))
}

// Fifty steps that end together wake their run once, as long as that wake-up has not begun; a message that is more than
// a wake-up is never merged into another one.
func TestWaitingWakeUpAbsorbsOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		c := config(r, a)
		c.FlowConcurrency = 1
		q := newQueue(t, r.Client, c)

		delayed := wakeUp("wrun_1")
		delayed.Delay = time.Hour
		later := enqueue(t, q, delayed)
		first := enqueue(t, q, wakeUp("wrun_1"))
		require.NotEqual(t, later, first, "a delayed one absorbs nothing that is due earlier")
		for range 50 {
			require.Equal(t, first, enqueue(t, q, wakeUp("wrun_1")))
		}

		input, keyed, ofStep, elsewhere := flow("wrun_1"), wakeUp("wrun_1"), wakeUp("wrun_1"), wakeUp("wrun_1")
		keyed.IdempotencyKey, ofStep.StepID, elsewhere.DeploymentID = "wait_1", "step_1", "dpl_2"
		seen := map[string]bool{first: true, later: true}
		for _, m := range []world.Message{wakeUp("wrun_2"), input, keyed, ofStep, elsewhere, {QueueName: flowName, Plain: true}, {QueueName: flowName, Plain: true}} {
			id := enqueue(t, q, m)
			require.False(t, seen[id])
			seen[id] = true
		}
		d, err := q.Depths(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(8), d[0].Pending)
		require.Equal(t, int64(1), d[0].Scheduled)

		run(t, q)
		a.await(t, 8)
		require.NotEqual(t, first, enqueue(t, q, wakeUp("wrun_1")), "a wake-up that has begun may have read the log already")
		a.await(t, 1)
	})
}

// With a v4 app, wake-ups of one run do not overlap: all that come during a delivery are one delivery after it. Other
// runs are not delayed.
func TestWakeUpsOfAV4RunDoNotOverlap(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var now, most atomic.Int64
		release := make(chan struct{})
		a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
			if d.RunID == "wrun_1" {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				<-release
			}
			return world.Outcome{Verdict: world.Done}
		})
		q := start(t, r, a)
		register(t, q.Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1", SDK: "v4"})
		enqueue(t, q, wakeUp("wrun_1"))
		a.await(t, 1)
		second := enqueue(t, q, wakeUp("wrun_1"))
		enqueue(t, q, wakeUp("wrun_2"))
		a.await(t, 1) // of the other run, which was queued behind it
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].Scheduled == 1 && d[0].Pending == 0
		}, patience, time.Millisecond, "the second one is parked")
		for range 10 {
			require.Equal(t, second, enqueue(t, q, wakeUp("wrun_1")))
		}
		input := flow("wrun_1")
		enqueue(t, q, input)
		a.await(t, 1) // what is more than a wake-up is not held up
		require.Eventually(t, func() bool { return now.Load() == 2 }, patience, time.Millisecond)
		close(release)
		a.await(t, 1)
		require.Equal(t, second, a.seen()[3].MessageID)
		require.Len(t, a.seen(), 4)
		require.Equal(t, int64(2), most.Load(), "the first wake-up and the message with input")
		requireQuiet(t, r)
	})
}

// The first delivery of a v4 run enqueues its steps one by one, and some end before it does: their wake-ups wait for
// it, otherwise a thousand steps would be replayed twice in parallel.
func TestWakeUpsWaitForTheDeliveryThatStartsAV4Run(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(untilReleased(release))
		q := start(t, r, a)
		register(t, q.Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1", SDK: "v4"})
		first := enqueue(t, q, flow("wrun_1"))
		a.await(t, 1)
		second := enqueue(t, q, wakeUp("wrun_1"))
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].Scheduled == 1 && d[0].Pending == 0
		}, patience, time.Millisecond, "it is parked")
		require.Equal(t, second, enqueue(t, q, wakeUp("wrun_1")))
		close(release)
		a.await(t, 1)
		require.Equal(t, []int{1}, a.attempts(first))
		require.Equal(t, []int{1}, a.attempts(second))
		requireQuiet(t, r)
	})
}

// With a v5 app a flow delivery runs steps, possibly for hours; a wake-up does not wait for it.
func TestWakeUpsOfAV5RunMayOverlap(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	release := make(chan struct{})
	a := newApp(untilReleased(release))
	q := start(t, r, a)
	register(t, q.Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1", SDK: "v5"})
	enqueue(t, q, wakeUp("wrun_1"))
	a.await(t, 1)
	enqueue(t, q, wakeUp("wrun_1"))
	a.await(t, 1)
	close(release)
	requireQuiet(t, r)
}

// Of several delayed wake-ups of a v4 run the earliest is kept, in whatever order they were enqueued.
func TestEarliestDelayedWakeUpStays(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		hours := func(n int) world.Outcome {
			return world.Outcome{Verdict: world.Reschedule, Delay: time.Duration(n) * time.Hour}
		}
		a := newApp(inTurn(hours(2), hours(3), hours(1)))
		q := start(t, r, a)
		register(t, q.Queue, world.App{BaseURL: "http://app", DeploymentID: "dpl_1", SDK: "v4"})
		retry := "asynq:{" + config(r, nil).JobPrefix + "flows}:retry"
		idle := func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].Active == 0 && d[0].Pending == 0
		}
		var ids []string
		for range 3 {
			ids = append(ids, enqueue(t, q, wakeUp("wrun_1")))
			a.await(t, 1)
			require.Eventually(t, idle, patience, time.Millisecond)
			left, err := r.Client.ZRange(t.Context(), retry, 0, -1).Result()
			require.NoError(t, err)
			require.Len(t, left, 1)
		}
		left, err := r.Client.ZRange(t.Context(), retry, 0, -1).Result()
		require.NoError(t, err)
		require.Equal(t, []string{ids[2]}, left)
		tasks, err := r.Keys(t.Context(), "asynq:{"+config(r, nil).JobPrefix+"flows}:t:*")
		require.NoError(t, err)
		require.Len(t, tasks, 1, "the bodies of the others are gone")
	})
}

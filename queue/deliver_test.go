package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A message is delivered as it was enqueued, byte for byte, with its names, as its first attempt; then nothing of it is
// left.
func TestMessageReachesTheAppUnchanged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		q := start(t, r, a)
		m := world.Message{
			QueueName: stepName, Body: []byte{0, 1, 0xff, '\r', '\n'}, ContentType: "application/cbor", Headers: map[string]string{"traceparent": "00-1"},
			IdempotencyKey: "step_1", DeploymentID: "dpl_1", RunID: "wrun_1", StepID: "step_1",
		}
		id := enqueue(t, q, m)
		require.Regexp(t, `^msg_[0-9A-HJKMNP-TV-Z]{26}$`, id)
		a.await(t, 1)
		require.Equal(t, []world.Delivery{{MessageID: id, Attempt: 1, BaseURL: "http://app", Kind: world.KindStep, Message: m}}, a.seen())
		requireQuiet(t, r)
	})
}

// BR-14: the app may ask for a message again a hundred times; that is not a failure, and the number of the attempt says
// only that it is not the first.
func TestRescheduledMessageKeepsItsIDAndItsAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		outcomes := make([]world.Outcome, 100)
		want := []int{1}
		for i := range outcomes {
			outcomes[i] = world.Outcome{Verdict: world.Reschedule}
			want = append(want, 2)
		}
		a := newApp(inTurn(outcomes...))
		q := start(t, r, a)
		id := enqueue(t, q, flow("wrun_1"))
		a.await(t, 101)
		require.Equal(t, want, a.attempts(id))
		requireQuiet(t, r)
	})
}

// BR-15: delays are exact to the millisecond although asynq counts in seconds: a message is never early.
func TestDelayedMessageIsNotEarly(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{time.Microsecond, 50 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
				a := newApp(inTurn(world.Outcome{Verdict: world.Reschedule, Delay: delay}))
				q := start(t, r, a)
				m := flow("wrun_1")
				m.Delay = delay
				before := time.Now()
				id := enqueue(t, q, m)
				a.await(t, 2)
				require.GreaterOrEqual(t, a.times[0].Sub(before), delay, "the first delivery")
				require.GreaterOrEqual(t, a.times[1].Sub(a.times[0]), delay, "the rescheduled one")
				require.Equal(t, []int{1, 2}, a.attempts(id))
				requireQuiet(t, r)
			})
		})
	}
}

// BR-15: a sleep of 40 days is stored as such.
func TestLongDelayIsNotTruncated(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	q := newQueue(t, r.Client, config(r, newApp(nil)))
	m := flow("wrun_1")
	m.Delay = 40 * 24 * time.Hour
	before := time.Now()
	id := enqueue(t, q, m)
	due, err := r.Client.ZScore(t.Context(), "asynq:{"+config(r, nil).JobPrefix+"flows}:scheduled", id).Result()
	require.NoError(t, err)
	require.InDelta(t, float64(before.Add(m.Delay).UnixMilli())/1000, due, 5)
}

// BR-13: every failed delivery increases the attempt, so that the app can give up at its limit.
func TestFailedDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		failed, rescheduled := world.Outcome{Verdict: world.Failed, Status: 500, Reason: "no"}, world.Outcome{Verdict: world.Reschedule}
		a := newApp(inTurn(failed, failed, rescheduled, failed, rescheduled))
		q := start(t, r, a)
		id := enqueue(t, q, flow("wrun_1"))
		a.await(t, 6)
		require.Equal(t, []int{1, 2, 3, 4, 5, 5}, a.attempts(id))
		requireQuiet(t, r)
	})
}

// BR-13: a message that never succeeds is delivered more often than the 49 times after which the SDK writes the failure
// itself; only then is it dead, and its key free.
func TestMessageThatNeverSucceedsIsDead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Failed, Status: 500, Reason: "no"}))
		q := start(t, r, a)
		id := enqueue(t, q, stepOf("wrun_1", "step_1"))
		a.await(t, 60)
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[1].Dead == 1 && d[1].Active == 0 && d[1].Retry == 0 && d[1].Pending == 0
		}, patience, 5*time.Millisecond)
		require.Len(t, a.attempts(id), 60)
		second := enqueue(t, q, stepOf("wrun_1", "step_1"))
		require.NotEqual(t, id, second)
	})
}

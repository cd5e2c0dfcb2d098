package queue_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BR-18, BR-19: a key is held as long as its message may still be delivered: pending, delayed, in delivery, or waiting
// for a retry. It is free as soon as the message is done.
func TestKeyIsHeldAsLongAsItsMessageLives(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		var turn atomic.Int64
		a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
			switch turn.Add(1) {
			case 1:
				return world.Outcome{Verdict: world.Failed, Status: 500, Reason: "no"}
			case 2:
				return world.Outcome{Verdict: world.Reschedule, Delay: 50 * time.Millisecond}
			case 3:
				return untilReleased(release)(ctx, d)
			default:
				return world.Outcome{Verdict: world.Done}
			}
		})
		q := newQueue(t, r.Client, config(r, a))
		m := stepOf("wrun_1", "step_1")
		m.Delay = 50 * time.Millisecond
		id := enqueue(t, q, m)
		same := func(when string) { require.Equal(t, id, enqueue(t, q, stepOf("wrun_1", "step_1")), when) }
		same("delayed")
		run(t, q)
		a.await(t, 1)
		same("failed or in flight")
		a.await(t, 1)
		same("rescheduled or in flight")
		a.await(t, 1)
		same("in flight")
		close(release)
		requireQuiet(t, r)

		second := enqueue(t, q, stepOf("wrun_1", "step_1"))
		require.NotEqual(t, id, second, "done: the same key is a new message")
		a.await(t, 1)
		require.Len(t, a.seen(), 4)
		requireQuiet(t, r)
	})
}

// Step ids are unique only within a run, and the two kinds of message are separate.
func TestKeyBelongsToItsRun(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	q := newQueue(t, r.Client, config(r, newApp(nil)))
	asFlow := flow("wrun_1")
	asFlow.IdempotencyKey = "step_1"
	seen := map[string]bool{}
	for _, m := range []world.Message{
		stepOf("wrun_1", "step_1"), stepOf("wrun_2", "step_1"), stepOf("wrun_1", "step_1:x"), stepOf("wrun_1:step_1", "x"), stepOf("", "step_1"), asFlow,
	} {
		id := enqueue(t, q, m)
		require.False(t, seen[id])
		seen[id] = true
		require.Equal(t, id, enqueue(t, q, m))
	}
}

// Many concurrent callers with one key add one message.
func TestKeyIsTakenOnceByMany(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := newQueue(t, r.Client, config(r, newApp(nil)))
		got := make(chan string, 50)
		var wg sync.WaitGroup
		for range cap(got) {
			wg.Go(func() {
				id, err := q.Enqueue(context.Background(), stepOf("wrun_1", "step_1"))
				if err == nil {
					got <- id
				}
			})
		}
		wg.Wait()
		close(got)
		first, n := <-got, 1
		for id := range got {
			require.Equal(t, first, id)
			n++
		}
		require.Equal(t, 50, n)
		d, err := q.Depths(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), d[1].Pending)
	})
}

// BR-19: a message is deleted with asynq's tools: its key must not block the step forever.
func TestKeyOfADeletedMessageIsFree(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	q := newQueue(t, r.Client, config(r, newApp(nil)))
	id := enqueue(t, q, stepOf("wrun_1", "step_1"))
	prefix := "asynq:{" + config(r, nil).JobPrefix + "steps}:"
	require.NoError(t, r.Client.LRem(t.Context(), prefix+"pending", 0, id).Err())
	require.NoError(t, r.Client.Del(t.Context(), prefix+"t:"+id).Err())
	second := enqueue(t, q, stepOf("wrun_1", "step_1"))
	require.NotEqual(t, id, second)
	require.Equal(t, second, enqueue(t, q, stepOf("wrun_1", "step_1")))
}

// A queue() call whose answer was lost is sent again, perhaps after its message is done. It gets the same answer and
// adds nothing, for at least ten minutes.
func TestRepeatedCallAddsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		q := start(t, r, a)
		m := flow("wrun_1")
		m.RequestID = "req {1}"
		id := enqueue(t, q, m)
		a.await(t, 1)
		require.Equal(t, id, enqueue(t, q, m))
		requireQuiet(t, r)
		require.Equal(t, id, enqueue(t, q, m), "done")

		held := stepOf("wrun_1", "step_1")
		held.Delay = time.Hour
		holder := enqueue(t, q, held)
		held.RequestID = "req 2"
		require.Equal(t, holder, enqueue(t, q, held))
		keys, err := r.Keys(t.Context(), r.Prefix+"queue:*:request:*")
		require.NoError(t, err)
		require.Len(t, keys, 2)
		for _, k := range keys {
			ttl, err := r.Client.PTTL(t.Context(), k).Result()
			require.NoError(t, err)
			require.Greater(t, ttl, 10*time.Minute)
		}
		require.Len(t, a.seen(), 1)
	})
}

func TestEnqueueRefusesWhatItCannotDeliver(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	q := newQueue(t, r.Client, config(r, newApp(nil)))
	for _, m := range []world.Message{{QueueName: "mail"}, {}, {QueueName: stepName, Delay: -1}, {QueueName: stepName, Delay: 1 << 62}} {
		_, err := q.Enqueue(t.Context(), m)
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := q.Enqueue(ended, flow("wrun_1"))
	require.ErrorIs(t, err, context.Canceled)
}

package queue_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A message for a queue that waits is claimed in the call that adds it, without a doorbell. A message at another time
// rings, so this test looks for the first one that does not.
func TestAMessageForAWaitingQueueNeedsNoDoorbell(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		q := start(t, r, a)
		bell := r.Prefix + "queue:{" + config(r, a).JobPrefix + "steps}:bell"
		ears := r.Client.Subscribe(t.Context(), bell)
		defer func() { require.NoError(t, ears.Close()) }()
		_, err := ears.Receive(t.Context())
		require.NoError(t, err)
		heard := ears.Channel()
		quiet := false
		for i := 0; !quiet && i < 1000; i++ {
			enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i)))
			a.await(t, 1)
			// Published at the node of the queue, like the doorbells: on a cluster, messages from other nodes may
			// overtake them.
			require.NoError(t, r.Client.Eval(t.Context(), `return redis.call('PUBLISH', KEYS[1], 'end')`, []string{bell}).Err())
			quiet = (<-heard).Payload == "end"
			for m := ""; !quiet && m != "end"; {
				m = (<-heard).Payload
			}
		}
		require.True(t, quiet, "each message rang")
		requireQuiet(t, r)
	})
}

// The queue stops while a message is being added that would have been claimed immediately: it is delivered, or waits
// for the next process, and no process holds it meanwhile.
func TestStopWhileAMessageIsAdded(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	delivered := 0
	const rounds = 30
	for i := range rounds {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		q := run(t, newQueue(t, r.Client, config(r, a)))
		enqueue(t, q, stepOf("wrun_1", "first_"+strconv.Itoa(i)))
		a.await(t, 1)
		var adding sync.WaitGroup
		adding.Go(func() { enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i))) })
		q.stop()
		adding.Wait()
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[1].Active == 0
		}, time.Minute, time.Millisecond, "no message stays with a process that has ended")
		delivered += len(a.seen())
	}
	last := newApp(always(world.Outcome{Verdict: world.Done}))
	start(t, r, last)
	requireQuiet(t, r)
	require.Equal(t, 2*rounds, delivered+len(last.seen()), "each message was delivered once")
}

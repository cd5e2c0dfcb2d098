package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BR-19: a process that enqueues with a key is killed, or cut off from Redis, at any of its Redis calls, before the
// call or before its answer. Another replica that enqueues with the same key adds the message or finds it: there is
// one, it is delivered once, and its key is free afterwards.
func TestBR19EnqueuerIsCutOffAtAnyCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		q := newQueue(t, r.Client, config(r, a))
		var ids []string
		for _, lastSent := range []bool{false, true} {
			for _, delay := range []time.Duration{0, 300 * time.Millisecond} {
				cuts := 0
				for through := false; !through; cuts++ {
					m := stepOf("wrun_1", fmt.Sprintf("step_%v_%s_%d", lastSent, delay, cuts))
					m.Delay = delay
					link := newLink(t, r)
					victim := newQueue(t, link.UniversalClient, config(r, a))
					cut := &cutOff{lastSent: lastSent}
					cut.left.Store(int64(cuts))
					link.AddHook(cut)
					first, err := victim.Enqueue(t.Context(), m)
					through = err == nil
					if !through {
						require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
					}
					id := enqueue(t, q, m)
					require.Equal(t, id, enqueue(t, q, m), "the key is held")
					if through {
						require.Equal(t, id, first)
					}
					ids = append(ids, id)
				}
				require.Greater(t, cuts, 1, "it makes a call")
			}
		}
		work := run(t, q)
		a.await(t, len(ids))
		for _, id := range ids {
			require.Equal(t, []int{1}, a.attempts(id))
		}
		requireQuiet(t, r)
		again := enqueue(t, work, stepOf("wrun_1", "step_true_0s_0"))
		require.NotContains(t, ids, again, "the key is free")
		a.await(t, 1)
		requireQuiet(t, r)
		require.Len(t, a.seen(), len(ids)+1)
	})
}

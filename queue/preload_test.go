package queue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// Only a bare wake-up of a run has a preload, and only for an app of SDK v4 that accepts one: with every delivery of
// it. The latest registration of an app counts, also for a replica that knew an earlier one.
func TestWakeUpsAreDeliveredWithAPreload(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(inTurn(world.Outcome{Verdict: world.Reschedule}, world.Outcome{Verdict: world.Failed, Status: 500}))
		c := config(r, a)
		c.BaseURL = ""
		q, other := start(t, r, a), newQueue(t, r.Client, c)
		delivered := func(m world.Message, times int) []bool {
			t.Helper()
			before := len(a.seen())
			enqueue(t, q, m)
			a.await(t, times)
			requireQuiet(t, r)
			var got []bool
			for _, d := range a.seen()[before:] {
				got = append(got, d.TakesPreload)
			}
			return got
		}
		wakeUp := flow("wrun_1")
		wakeUp.Plain = true
		starting, step, health := flow("wrun_1"), stepOf("wrun_1", "step_1"), world.Message{QueueName: flowName, Body: []byte{0xa0}, Plain: true}
		app := world.App{BaseURL: "http://one", DeploymentID: "dpl_1", SDK: "v4", TakesPreload: true}

		register(t, q.Queue, app)
		require.Equal(t, []bool{true, true, true}, delivered(wakeUp, 3))
		for _, m := range []world.Message{starting, step, health} {
			require.Equal(t, []bool{false}, delivered(m, 1), m)
		}
		app.TakesPreload = false
		register(t, other, app)
		require.Equal(t, []bool{false}, delivered(wakeUp, 1))
		app.TakesPreload = true
		register(t, other, app)
		require.Equal(t, []bool{true}, delivered(wakeUp, 1))
		app.SDK = "v5"
		register(t, other, app)
		require.Equal(t, []bool{false}, delivered(wakeUp, 1))
	})
}

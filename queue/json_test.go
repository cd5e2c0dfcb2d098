package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// knowsOnlyJSON accepts JSON, and CBOR only after another request.
func knowsOnlyJSON(_ context.Context, d world.Delivery) world.Outcome {
	return world.Outcome{Verdict: world.Done, TookJSON: !d.AsJSON}
}

// An app that refused CBOR gets JSON from every replica, also from one that starts later, and without a preloaded log.
// Renewing its registration changes nothing; a registration as something new, and a day, let it be tried again.
func TestAnAppThatRefusedCBORIsRemembered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(knowsOnlyJSON)
		c := quickLook(r, a)
		q := run(t, newQueue(t, r.Client, c))
		wakeUp := flow("wrun_1")
		wakeUp.Plain = true
		delivered := func(q running) (asJSON, preloaded bool) {
			t.Helper()
			before := len(a.seen())
			enqueue(t, q, wakeUp)
			a.await(t, 1)
			requireQuiet(t, r)
			d := a.seen()[before]
			return d.AsJSON, d.TakesPreload
		}
		as := func(asJSON, preloaded bool) {
			t.Helper()
			gotJSON, gotPreloaded := delivered(q)
			require.Equal(t, []bool{asJSON, preloaded}, []bool{gotJSON, gotPreloaded})
		}
		app := world.App{BaseURL: "http://one", DeploymentID: "dpl_1", SDK: "v4", TakesPreload: true, Lease: 90 * time.Second}
		register(t, q.Queue, app)
		as(false, true)
		as(true, false)
		skip(c, time.Minute)
		register(t, q.Queue, app)
		as(true, false)

		q.stop()
		q = run(t, newQueue(t, r.Client, c))
		as(true, false)

		require.NoError(t, q.UnregisterApp(t.Context(), app.BaseURL, app.DeploymentID))
		register(t, q.Queue, app)
		as(false, true)
		as(true, false)

		app.Lease = 0
		register(t, q.Queue, world.App{BaseURL: "http://other", DeploymentID: "dpl_2", SDK: "v4"})
		skip(c, 2*time.Minute) // the lease ends
		register(t, q.Queue, app)
		as(false, true)
		skip(c, 23*time.Hour)
		register(t, q.Queue, app)
		as(true, false)
		skip(c, 2*time.Hour)
		as(false, true)
		as(true, false)
	})
}

// An app that is reached by the configured address has no registration; this process remembers it.
func TestTheConfiguredAppThatRefusedCBORIsRemembered(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(knowsOnlyJSON)
	q := run(t, newQueue(t, r.Client, config(r, a)))
	for _, asJSON := range []bool{false, true, true} {
		before := len(a.seen())
		enqueue(t, q, flow("wrun_1"))
		a.await(t, 1)
		requireQuiet(t, r)
		require.Equal(t, asJSON, a.seen()[before].AsJSON)
	}
}

package queue_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

// Two deployments register one address, and one of them answers there: it gets its messages, and those of the other
// wait, uncharged, until that one answers.
func TestMessagesWaitWhileAnotherDeploymentAnswersAtTheirAddress(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var answers atomic.Value
		answers.Store("shop")
		a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
			if d.Target != answers.Load() {
				return world.Outcome{Verdict: world.Unreachable, Misdirected: true, Reason: "another deployment answers there"}
			}
			return world.Outcome{Verdict: world.Done}
		})
		c, said := config(r, a), &worldtest.Log{}
		c.BaseURL, c.Logger = "", said.Logger()
		q := run(t, newQueue(t, r.Client, c))
		register(t, q.Queue, world.App{BaseURL: "http://one", DeploymentID: "shop"})
		register(t, q.Queue, world.App{BaseURL: "http://one", DeploymentID: "cont"})
		of := func(run, deployment string) world.Message {
			m := flow(run)
			m.DeploymentID = deployment
			return m
		}
		var waiting []string
		for _, id := range []string{"wrun_1", "wrun_2", "wrun_3"} {
			waiting = append(waiting, enqueue(t, q, of(id, "cont")))
		}
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].WaitingForApp == 3
		}, patience, time.Millisecond)
		for range 20 { // a delivery to the address is not held up by the other deployment
			id := enqueue(t, q, of("wrun_4", "shop"))
			require.Eventually(t, func() bool { return len(a.attempts(id)) > 0 }, patience, time.Millisecond)
		}
		answers.Store("cont")
		requireQuiet(t, r)
		for _, id := range waiting {
			for _, attempt := range a.attempts(id) {
				require.Equal(t, 1, attempt)
			}
		}
		require.True(t, slices.ContainsFunc(a.seen(), func(d world.Delivery) bool { return d.Target == "cont" && d.NewConnection }))
		require.False(t, slices.ContainsFunc(a.seen(), func(d world.Delivery) bool { return d.Target == "shop" && d.NewConnection }))
		require.Equal(t, 1, said.Count("another deployment answers at the address that this one has registered"))
		require.Equal(t, 1, said.Count("the deployment answers at its address again"))
	})
}

// The deployment of a delivery is that of the registration: with the policy latest, and for a message that names none,
// it is not the message's. The configured address has none.
func TestADeliveryNamesTheDeploymentOfTheRegistration(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	c := config(r, a)
	c.Policy, c.Patience = queue.Latest, time.Nanosecond
	q := run(t, newQueue(t, r.Client, c))
	target := func(deployment string) string {
		m := flow("wrun_1")
		m.DeploymentID = deployment
		enqueue(t, q, m)
		a.await(t, 1)
		seen := a.seen()
		return seen[len(seen)-1].Target
	}
	require.Empty(t, target("old"), "nobody has registered: the configured address")
	require.NoError(t, q.RegisterApp(t.Context(), world.App{BaseURL: "http://old", DeploymentID: "old"}))
	require.NoError(t, q.UnregisterApp(t.Context(), "http://old", "old"))
	register(t, q.Queue, world.App{BaseURL: "http://new", DeploymentID: "new"})
	require.Equal(t, "new", target(""))
	require.Equal(t, "new", target("new"))
	require.Equal(t, "new", target("old"))
}

// Two processes with one address and one deployment, but other workflows: a delivery says that its workflow was
// registered, whichever registered last.
func TestADeliverySaysThatItsWorkflowIsRegistered(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	c := config(r, a)
	clock := worldtest.TickingClock(time.Millisecond)
	c.Clock = clock
	q := run(t, newQueue(t, r.Client, c))
	app := world.App{BaseURL: "http://one", DeploymentID: "dpl", Lease: 90 * time.Second}
	for _, workflows := range []string{"order\npay", "", "ship", ""} {
		app.Workflows = workflows
		register(t, q.Queue, app)
	}
	knows := func(workflow string) bool {
		m := flow("wrun_1")
		m.QueueName, m.DeploymentID = "__wkf_workflow_"+workflow, "dpl"
		enqueue(t, q, m)
		a.await(t, 1)
		seen := a.seen()
		return seen[len(seen)-1].HasWorkflow
	}
	for workflow, known := range map[string]bool{"order": true, "pay": true, "ship": true, "or": false, "ghost": false} {
		require.Equal(t, known, knows(workflow), workflow)
	}
	clock.Add(80 * time.Second)
	app.Workflows = "ship"
	register(t, q.Queue, app)
	clock.Add(20 * time.Second)
	require.True(t, knows("ship"))
	require.False(t, knows("order"), "the other process has not registered again")
}

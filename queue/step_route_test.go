package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// requireReason waits until the one message of a run has a reason.
func requireReason(t testing.TB, q running, runID, reason string) {
	t.Helper()
	require.Eventually(t, func() bool {
		messages, err := q.RunMessages(context.Background(), runID)
		return err == nil && len(messages) == 1 && messages[0].Reason == reason
	}, patience, time.Millisecond, "%s: %s", runID, reason)
}

// A message for a step is never delivered to an app of SDK v5, which has no route for it: not without a deployment, not
// after the run's own deployment was upgraded, and not at the configured address.
func TestMessageForAStepNeverGoesToSDKv5(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	c, said := quickLook(r, a), &worldtest.Log{}
	c.Logger, c.BaseURL = said.Logger(), "http://new"
	q := run(t, newQueue(t, r.Client, c))
	register(t, q.Queue, world.App{BaseURL: "http://new", DeploymentID: "dpl_1", SDK: "v5"})
	of := func(deployment, sdk string) world.Message {
		m := stepOf("wrun_"+deployment+sdk, "step_1")
		m.DeploymentID, m.SDK = deployment, sdk
		return m
	}
	for _, m := range []world.Message{of("", ""), of("", "v4"), of("dpl_1", "v4"), of("dpl_1", "")} {
		enqueue(t, q, m)
	}
	held(t, q, 4)
	require.Empty(t, a.seen())
	requireReason(t, q, "wrun_dpl_1v4",
		`no app of deployment "dpl_1" with SDK v4, which has a route for steps, has registered; there is http://new with SDK v5`)
	require.Equal(t, 2, said.Count("messages wait"), "once for each thing that is missing")
	require.Equal(t, 1, said.Count("no app with SDK v4, which has a route for steps, has registered; there is http://new with SDK v5; start such an app"))

	register(t, q.Queue, world.App{BaseURL: "http://old", DeploymentID: "dpl_1", SDK: "v4"})
	a.await(t, 4)
	for _, d := range a.seen() {
		require.Equal(t, "http://old", d.BaseURL)
	}
	requireQuiet(t, r)
}

// The reason follows the state of a message: once its app exists but is down, or has no capacity, the reason says that.
func TestReasonsChangeWithTheApp(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	release := make(chan struct{})
	begun := make(chan struct{}, 10)
	a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
		if d.BaseURL == "http://down" {
			return unreachable
		}
		begun <- struct{}{}
		return untilReleased(release)(ctx, d)
	})
	c := config(r, a)
	c.BaseURL, c.AppConcurrency, c.Backoff.UnreachableFirst, c.Backoff.UnreachableMax = "", 1, time.Hour, time.Hour
	q := run(t, newQueue(t, r.Client, c))
	of := func(runID, deployment string) world.Message {
		m := stepOf(runID, "step_1")
		m.DeploymentID = deployment
		return m
	}
	enqueue(t, q, of("wrun_1", "dpl_down"))
	requireReason(t, q, "wrun_1", `no app of deployment "dpl_down" has registered`)
	register(t, q.Queue, world.App{BaseURL: "http://down", DeploymentID: "dpl_down"})
	requireReason(t, q, "wrun_1", "connection refused")
	enqueue(t, q, of("wrun_2", "dpl_down"))
	requireReason(t, q, "wrun_2", "connection refused") // although it was not tried itself

	register(t, q.Queue, world.App{BaseURL: "http://up", DeploymentID: "dpl_up"})
	enqueue(t, q, of("wrun_3", "dpl_up"))
	select {
	case <-begun: // and has the one place at the app
	case <-time.After(patience):
		require.FailNow(t, "wrun_3 is not delivered")
	}
	enqueue(t, q, of("wrun_4", "dpl_up"))
	requireReason(t, q, "wrun_4", "the app at http://up has as many deliveries as one replica gives it (1)")
	close(release)
}

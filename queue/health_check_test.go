package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

// A health check expires after a minute, whatever it waits for: it is neither delivered later nor dead.
func TestHealthCheckEndsAfterAMinute(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	clock := worldtest.TickingClock(time.Millisecond)
	release := make(chan struct{})
	a := newApp(func(ctx context.Context, d world.Delivery) world.Outcome {
		switch d.BaseURL {
		case "http://fails":
			return world.Outcome{Verdict: world.Failed, Reason: "no", Sent: true}
		case "http://down":
			return unreachable
		default:
			return untilReleased(release)(ctx, d)
		}
	})
	c, said := config(r, a), &worldtest.Log{}
	c.Logger = said.Logger()
	c.Clock, c.BaseURL, c.AppConcurrency = clock, "", 1
	// None is delivered again within the test, except because its minute is over.
	c.Backoff = queue.Backoff{FailedFirst: time.Hour, FailedMax: time.Hour, Quick: []time.Duration{}, UnreachableFirst: time.Hour, UnreachableMax: time.Hour, NoTarget: time.Hour, DeadAfter: 60}
	q := run(t, newQueue(t, r.Client, c))
	for _, name := range []string{"fails", "down", "full"} {
		register(t, q.Queue, world.App{BaseURL: "http://" + name, DeploymentID: name})
	}
	busy := flow("wrun_1")
	busy.DeploymentID = "full"
	enqueue(t, q, busy)
	a.await(t, 1)
	check := func(name, deployment string) string {
		return enqueue(t, q, world.Message{QueueName: name, DeploymentID: deployment, Body: []byte("x")})
	}
	var checks []string
	for _, deployment := range []string{"fails", "down", "full", "missing"} {
		checks = append(checks, check("__wkf_workflow_health_check", deployment))
	}
	checks = append(checks, check("__shop_wkf_step_health_check", "missing"))
	waiting := world.Message{QueueName: "__wkf_workflow_workflow//./a//health_check", DeploymentID: "missing", Body: []byte("x")}
	other := enqueue(t, q, waiting)
	require.Eventually(t, func() bool {
		d, err := q.Depths(context.Background())
		return err == nil && d[0].Retry == 5 && d[1].Retry == 1 && d[0].Pending+d[1].Pending == 0
	}, patience, time.Millisecond)
	state := func(id string) world.MessageState {
		m, err := q.GetMessage(t.Context(), id)
		require.NoError(t, err)
		return m.State
	}
	for _, id := range checks {
		require.Contains(t, []world.MessageState{world.MessageRetry, world.MessageWaitingForApp}, state(id))
	}
	skip(c, time.Minute)
	require.Eventually(t, func() bool {
		for _, id := range checks {
			if state(id) != world.MessageCompleted {
				return false
			}
		}
		return true
	}, patience, time.Millisecond)
	require.Equal(t, world.MessageWaitingForApp, state(other), "a workflow may have any name")
	require.Equal(t, 0, said.Count("set aside"))
	close(release)
	seen := len(a.seen())
	register(t, q.Queue, world.App{BaseURL: "http://missing", DeploymentID: "missing"})
	requireQuiet(t, r)
	require.Len(t, a.seen(), seen+1, "only the other one")
}

// A health check that the policy would fail is dropped: it has no run to fail, and is not worth redriving.
func TestHealthCheckIsNeverDead(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	c, said := config(r, newApp(always(world.Outcome{Verdict: world.Failed, Reason: "no"}))), &worldtest.Log{}
	c.Logger, c.Backoff.DeadAfter = said.Logger(), 1
	c.RunDead = func(context.Context, world.Message, queue.Death, string) error {
		t.Error("the run of a health check is failed")
		return nil
	}
	q := run(t, newQueue(t, r.Client, c))
	id := enqueue(t, q, world.Message{QueueName: "__wkf_workflow_health_check", RunID: "wrun_soon", Body: []byte("x")})
	require.Eventually(t, func() bool {
		m, err := q.GetMessage(t.Context(), id)
		return err == nil && m.State == world.MessageCompleted
	}, patience, time.Millisecond)
	require.Equal(t, 1, said.Count("a health check is dropped"))
	requireQuiet(t, r)
}

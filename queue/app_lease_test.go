package queue_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

func ofDeployment(id string) world.Message {
	m := stepOf("wrun_1", "step_1")
	m.DeploymentID, m.IdempotencyKey = id, ""
	return m
}

// held waits until n messages in the queue of steps wait for an app.
func held(t testing.TB, q running, n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		d, err := q.Depths(context.Background())
		return err == nil && d[1].WaitingForApp == n && d[1].Pending == 0 && d[1].Active == 0
	}, patience, time.Millisecond)
}

// quickLook makes the queue look often at messages that wait for an app.
func quickLook(r *redistest.Redis, a world.Deliverer) queue.Config {
	c := config(r, a)
	c.Clock, c.BaseURL, c.Backoff.NoTarget = worldtest.TickingClock(time.Millisecond), "", 20*time.Millisecond
	return c
}

func skip(c queue.Config, d time.Duration) { c.Clock.(*worldtest.Clock).Add(d) }

// BR-69: the app of a run's deployment is gone for good. Its messages wait, uncharged, and are delivered neither to
// another deployment nor to the configured address; the message and the log say what they wait for.
func TestMessageOfAGoneDeploymentIsHeld(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a, said := newApp(always(world.Outcome{Verdict: world.Done})), &worldtest.Log{}
		c := quickLook(r, a)
		c.BaseURL, c.Logger = "http://configured", said.Logger()
		q := run(t, newQueue(t, r.Client, c))
		register(t, q.Queue, world.App{BaseURL: "http://old", DeploymentID: "dpl_1", SDK: "v4", Lease: 90 * time.Second})
		enqueue(t, q, ofDeployment("dpl_1"))
		require.Equal(t, "http://old", a.goesTo(t))
		skip(c, 2*time.Minute)
		register(t, q.Queue, world.App{BaseURL: "http://new", DeploymentID: "dpl_2", SDK: "v4", Lease: 90 * time.Second})
		id := enqueue(t, q, ofDeployment("dpl_1"))
		held(t, q, 1)
		reason, err := r.Client.HGet(t.Context(), "asynq:{"+c.JobPrefix+"steps}:t:"+id, "reason").Result()
		require.NoError(t, err)
		require.Regexp(t, `^no app of deployment "dpl_1" is alive; the last one, at http://old, was heard of 2m\d*s ago$`, reason)
		require.Equal(t, 1, said.Count(`no app of deployment \"dpl_1\" is alive`))
		skip(c, time.Hour)
		enqueue(t, q, ofDeployment("dpl_3"))
		require.Equal(t, "http://configured", a.goesTo(t), "no app of this one has ever registered")

		register(t, q.Queue, world.App{BaseURL: "http://old", DeploymentID: "dpl_1", SDK: "v4", Lease: 90 * time.Second})
		require.Equal(t, "http://old", a.goesTo(t))
		require.Equal(t, []int{1}, a.attempts(id))
		require.Len(t, a.seen(), 3)
		requireQuiet(t, r)
	})
}

// BR-69, policy latest: after some time without an app of its deployment, a message is delivered to the newest app of
// the same namespace and SDK generation.
func TestPolicyLatestGivesMessagesToTheNewestApp(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a, said := newApp(always(world.Outcome{Verdict: world.Done})), &worldtest.Log{}
	c := quickLook(r, a)
	c.Policy, c.Logger, c.BaseURL = queue.Latest, said.Logger(), "http://configured"
	q := run(t, newQueue(t, r.Client, c))
	lease := 90 * time.Second
	register(t, q.Queue, world.App{BaseURL: "http://old", DeploymentID: "dpl_1", SDK: "v4", Lease: lease})
	skip(c, 2*time.Minute)
	others := []world.App{
		{BaseURL: "http://new", DeploymentID: "dpl_2", SDK: "v4", Lease: lease},
		{BaseURL: "http://v5", DeploymentID: "dpl_3", SDK: "v5", Lease: lease},
	}
	for _, app := range others {
		register(t, q.Queue, app)
	}
	id := enqueue(t, q, ofDeployment("dpl_1"))
	held(t, q, 1)
	require.Empty(t, a.seen(), "not before a minute has passed")
	skip(c, time.Minute)
	require.Equal(t, "http://new", a.goesTo(t))
	require.Equal(t, []int{1}, a.attempts(id))
	require.Equal(t, 1, said.Count("instead=dpl_2"))
	requireQuiet(t, r)
}

// BR-69, policy fail: the run is failed first, with a reason; while that is not possible the message stays.
func TestPolicyFailFailsTheRun(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	c := quickLook(r, a)
	c.Policy, c.Backoff.FailedMax = queue.Fail, 20*time.Millisecond
	var tries atomic.Int64
	var failed atomic.Value
	c.RunDead = func(_ context.Context, m world.Message, why queue.Death, reason string) error {
		if tries.Add(1) < 3 {
			return errors.New("the store is away")
		}
		failed.Store(m.RunID + ": " + string(why) + ": " + reason)
		return nil
	}
	q := run(t, newQueue(t, r.Client, c))
	enqueue(t, q, ofDeployment("dpl_1"))
	held(t, q, 1)
	require.Zero(t, tries.Load())
	skip(c, 2*time.Minute)
	require.Eventually(t, func() bool {
		d, err := q.Depths(context.Background())
		return err == nil && d[1].Dead == 1
	}, patience, time.Millisecond)
	require.Equal(t, int64(3), tries.Load())
	require.Equal(t, `wrun_1: no app: no app of deployment "dpl_1" has registered`, failed.Load())
	require.Empty(t, a.seen())
}

// An app that stops unregisters, and is not tried for the rest of its lease. An app that does not renew its lease is
// not alive either; one without a lease is alive for thirty days.
func TestAppIsAliveAsLongAsItsLease(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	c := config(r, newApp(nil))
	c.Clock = worldtest.TickingClock(time.Millisecond)
	q := newQueue(t, r.Client, c)
	alive := func() map[string]bool {
		apps, err := q.ListApps(t.Context())
		require.NoError(t, err)
		out := map[string]bool{}
		for _, a := range apps {
			out[a.BaseURL] = a.Alive
		}
		return out
	}
	one := world.App{BaseURL: "http://one", DeploymentID: "dpl_1", Lease: 90 * time.Second}
	two := world.App{BaseURL: "http://two", DeploymentID: "dpl_1", Lease: 90 * time.Second}
	function := world.App{BaseURL: "http://function", DeploymentID: "dpl_2"}
	for _, app := range []world.App{one, two, function} {
		register(t, q, app)
	}
	require.Equal(t, map[string]bool{"http://one": true, "http://two": true, "http://function": true}, alive())
	require.NoError(t, q.UnregisterApp(t.Context(), "http://one/", "dpl_1"))
	require.NoError(t, q.UnregisterApp(t.Context(), "http://one", "dpl_9"))
	require.Equal(t, map[string]bool{"http://one": false, "http://two": true, "http://function": true}, alive())
	register(t, q, one)
	require.True(t, alive()["http://one"], "it is back, at once")
	skip(c, time.Minute)
	register(t, q, two)
	// A registration by another process, without a lease, does not prolong it.
	register(t, q, world.App{BaseURL: "http://one", DeploymentID: "dpl_1"})
	skip(c, time.Minute)
	require.Equal(t, map[string]bool{"http://one": false, "http://two": true, "http://function": true}, alive())
	skip(c, 48*time.Hour)
	register(t, q, function)
	require.Equal(t, map[string]bool{"http://two": false, "http://function": true}, alive(), "the newest of a deployment stays listed")
	require.Equal(t, world.CodeInvalid, world.ErrorCode(q.RegisterApp(t.Context(), world.App{BaseURL: "http://x", Lease: -1})))
}

// BR-25: a message is never delivered to an app of another namespace, even if that is the newest one of its own
// deployment; and a message of a v5 run is never delivered to a v4 app.
func TestAppsOfAnotherNamespaceOrSDKGetNothing(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	c := quickLook(r, a)
	q := run(t, newQueue(t, r.Client, c))
	for _, app := range []world.App{
		{BaseURL: "http://plain-v5", DeploymentID: "dpl_1", SDK: "v5"},
		{BaseURL: "http://acme", DeploymentID: "dpl_1", SDK: "v4", Namespace: "acme"},
		{BaseURL: "http://plain", DeploymentID: "dpl_1", SDK: "v4"},
		{BaseURL: "http://shop", DeploymentID: "dpl_1", SDK: "v4", Namespace: "shop"},
		{BaseURL: "http://v5-only", DeploymentID: "dpl_2", SDK: "v5"},
	} {
		register(t, q.Queue, app)
	}
	for _, one := range []struct {
		queue, namespace, deployment, sdk, want string
	}{
		{"__acme_wkf_workflow_x", "", "dpl_1", "", "http://acme"},
		{"__shop_wkf_workflow_x", "", "", "", "http://shop"},
		{"__wkf_workflow_x", "", "dpl_1", "", "http://plain"},
		{"__wkf_workflow_x", "acme", "dpl_1", "", "http://plain"},
		{"__wkf_workflow_x", "", "dpl_1", "v5", "http://plain-v5"},
		{"__wkf_step_x", "", "dpl_1", "", "http://shop"},
		{"__wkf_step_x", "acme", "dpl_1", "v4", "http://acme"},
		{"__acme_wkf_step_x", "", "", "v4", "http://acme"},
		{"__wkf_workflow_x", "", "dpl_2", "v4", "http://v5-only"}, // the deployment was upgraded
		{"__wkf_workflow_x", "", "", "v4", "http://plain"},
	} {
		enqueue(t, q, world.Message{QueueName: one.queue, Namespace: one.namespace, DeploymentID: one.deployment, SDK: one.sdk})
		require.Equal(t, one.want, a.goesTo(t), "%+v", one)
	}
	before := len(a.seen())
	enqueue(t, q, world.Message{QueueName: "__other_wkf_step_x", DeploymentID: "dpl_1"})
	held(t, q, 1)
	require.Len(t, a.seen(), before)
}

// One of two apps of a deployment is down: the other one gets its messages immediately.
func TestMessageGoesToAnotherAppOfTheDeployment(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
		if d.BaseURL == "http://two" {
			return unreachable
		}
		return world.Outcome{Verdict: world.Done}
	})
	c := quickLook(r, a)
	c.Backoff.Quick, c.Backoff.UnreachableFirst, c.Backoff.UnreachableMax = []time.Duration{}, time.Hour, time.Hour
	q := run(t, newQueue(t, r.Client, c))
	register(t, q.Queue, world.App{BaseURL: "http://one", DeploymentID: "dpl_1"})
	register(t, q.Queue, world.App{BaseURL: "http://two", DeploymentID: "dpl_1"})
	for range 5 {
		enqueue(t, q, ofDeployment("dpl_1"))
	}
	requireQuiet(t, r)
	to := map[string]int{}
	for _, d := range a.seen() {
		require.Equal(t, 1, d.Attempt)
		to[d.BaseURL]++
	}
	require.Equal(t, map[string]int{"http://one": 5, "http://two": to["http://two"]}, to)
	require.GreaterOrEqual(t, to["http://two"], 1)
}

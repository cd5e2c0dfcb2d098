package queue_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue"
)

var unreachable = world.Outcome{Verdict: world.Unreachable, Reason: "connection refused"}

// goesTo waits for the next delivery and returns its address.
func (a *app) goesTo(t testing.TB) string {
	t.Helper()
	a.await(t, 1)
	seen := a.seen()
	return seen[len(seen)-1].BaseURL
}

// A message without an app waits for any time; the log says once for which app. When that app registers, the message is
// delivered, as the first attempt.
func TestMessageWaitsForItsAppAndTheLogSaysWhich(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		c, said := config(r, a), &worldtest.Log{}
		c.BaseURL, c.Logger = "", said.Logger()
		q := run(t, newQueue(t, r.Client, c))
		m := flow("wrun_1")
		m.DeploymentID = "dpl_1"
		for range 20 {
			enqueue(t, q, m)
		}
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].WaitingForApp == 20
		}, patience, time.Millisecond)
		require.Equal(t, 1, said.Count(`no app of deployment \"dpl_1\" has registered; start the app`))

		register(t, q.Queue, world.App{BaseURL: "http://other", DeploymentID: "dpl_2"})
		require.Eventually(t, func() bool { // looked at once more, and put back
			d, err := q.Depths(context.Background())
			return err == nil && d[0].WaitingForApp == 20
		}, patience, time.Millisecond)
		require.Empty(t, a.seen())

		register(t, q.Queue, world.App{BaseURL: "http://mine/", DeploymentID: "dpl_1"})
		a.await(t, 20)
		for _, d := range a.seen() {
			require.Equal(t, "http://mine", d.BaseURL)
			require.Equal(t, 1, d.Attempt)
		}
		requireQuiet(t, r)
	})
}

// Messages go to the newest app of their deployment; a message without a deployment goes to the newest app; the
// configured address gets those for which no app has registered.
func TestNewestAppOfTheDeploymentGetsTheMessage(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	clock := worldtest.TickingClock(time.Millisecond)
	a := newApp(always(world.Outcome{Verdict: world.Done}))
	c := config(r, a)
	c.Clock = clock
	q := run(t, newQueue(t, r.Client, c))
	of := func(deployment string) world.Message {
		m := flow("wrun_1")
		m.DeploymentID = deployment
		return m
	}
	enqueue(t, q, of("dpl_1"))
	require.Equal(t, "http://app", a.goesTo(t), "nobody has registered")
	register(t, q.Queue, world.App{BaseURL: "http://one", DeploymentID: "dpl_1"})
	register(t, q.Queue, world.App{BaseURL: "http://two", DeploymentID: "dpl_2"})
	enqueue(t, q, of("dpl_1"))
	require.Equal(t, "http://one", a.goesTo(t))
	enqueue(t, q, of(""))
	require.Equal(t, "http://two", a.goesTo(t))
	enqueue(t, q, of("dpl_3"))
	require.Equal(t, "http://app", a.goesTo(t))
	register(t, q.Queue, world.App{BaseURL: "http://one-moved", DeploymentID: "dpl_1"})
	enqueue(t, q, of("dpl_1"))
	require.Equal(t, "http://one-moved", a.goesTo(t))

	apps, err := q.ListApps(t.Context())
	require.NoError(t, err)
	var urls []string
	for _, app := range apps {
		urls = append(urls, app.BaseURL)
	}
	require.Equal(t, []string{"http://one-moved", "http://two", "http://one"}, urls)
}

// BR-24: the app moved while messages waited for it: they follow.
func TestWaitingMessagesFollowTheAppToItsNewAddress(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
			if d.BaseURL == "http://old" {
				return unreachable
			}
			return world.Outcome{Verdict: world.Done}
		})
		c := config(r, a)
		c.BaseURL, c.Backoff.UnreachableFirst, c.Backoff.UnreachableMax = "", time.Hour, time.Hour
		q := run(t, newQueue(t, r.Client, c))
		register(t, q.Queue, world.App{BaseURL: "http://old", DeploymentID: "dpl_1"})
		for i := range 100 {
			enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i)))
		}
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[1].WaitingForApp == 100
		}, patience, time.Millisecond)
		tries := len(a.seen())
		require.LessOrEqual(t, tries, 20*3, "an app that is down is not asked by every message")
		register(t, q.Queue, world.App{BaseURL: "http://new", DeploymentID: "dpl_1"})
		a.await(t, tries+100)
		for _, d := range a.seen()[tries:] {
			require.Equal(t, "http://new", d.BaseURL)
			require.Equal(t, 1, d.Attempt, "an app that cannot be reached charges nothing")
		}
		requireQuiet(t, r)
	})
}

// BR-24: the app is down for a while: nothing is charged, the log has a line for the start and one for the end, and
// everything is delivered when it is back.
func TestAppIsDownAndComesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var up atomic.Bool
		a := newApp(func(context.Context, world.Delivery) world.Outcome {
			if !up.Load() {
				return unreachable
			}
			return world.Outcome{Verdict: world.Done}
		})
		c, said := config(r, a), &worldtest.Log{}
		c.Logger = said.Logger()
		q := run(t, newQueue(t, r.Client, c))
		for i := range 50 {
			enqueue(t, q, stepOf("wrun_1", "step_"+strconv.Itoa(i)))
		}
		a.await(t, 30)
		up.Store(true)
		requireQuiet(t, r)
		done := map[string]bool{}
		for _, d := range a.seen() {
			require.Equal(t, 1, d.Attempt)
			done[d.StepID] = true
		}
		require.Len(t, done, 50)
		require.Equal(t, 1, said.Count("the app cannot be reached"))
		require.Equal(t, 1, said.Count("the app can be reached again"))
	})
}

// The app dies during a step, twice: the message is delivered again, uncharged, but not as a first delivery. SDK v5
// would take that for a new run and repeat its work before it noticed.
func TestBrokenDeliveryIsMadeAgainUncharged(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	cut := world.Outcome{Verdict: world.Unreachable, Sent: true, Reason: "EOF"}
	a := newApp(inTurn(unreachable, cut, cut, unreachable))
	q := start(t, r, a)
	id := enqueue(t, q, stepOf("wrun_1", "step_1"))
	a.await(t, 5)
	require.Equal(t, []int{1, 1, 2, 2, 2}, a.attempts(id))
	requireQuiet(t, r)
}

// BR-23: a refusal is logged once, not at every try, and not again when it soon comes back.
func TestRefusalIsLoggedOnce(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	refusal := world.Outcome{Verdict: world.Failed, Status: 404, Reason: "route missing"}
	a := newApp(inTurn(refusal, refusal, refusal, world.Outcome{Verdict: world.Reschedule}, refusal))
	c, said := config(r, a), &worldtest.Log{}
	c.Logger = said.Logger()
	q := run(t, newQueue(t, r.Client, c))
	enqueue(t, q, stepOf("wrun_1", "step_1"))
	a.await(t, 6)
	requireQuiet(t, r)
	require.Equal(t, 1, said.Count("route missing"))
	require.Equal(t, 1, said.Count("acknowledges the messages"))
}

// A registration at another replica wakes the messages that wait here.
func TestRegistrationAtAnotherReplicaWakesMessages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		c := config(r, a)
		c.BaseURL = ""
		q, other := run(t, newQueue(t, r.Client, c)), newQueue(t, r.Client, c)
		enqueue(t, q, flow("wrun_1"))
		require.Eventually(t, func() bool {
			d, err := q.Depths(context.Background())
			return err == nil && d[0].WaitingForApp == 1
		}, patience, time.Millisecond)
		register(t, other, world.App{BaseURL: "http://there", DeploymentID: "dpl_1"})
		require.Equal(t, "http://there", a.goesTo(t))
		requireQuiet(t, r)
	})
}

// The app registers at its new address just while a delivery to the old one fails: the message must not wait out its
// delay.
func TestRegistrationDuringAFailingDelivery(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		release := make(chan struct{})
		a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
			if d.BaseURL == "http://old" {
				<-release
				return unreachable
			}
			return world.Outcome{Verdict: world.Done}
		})
		c := config(r, a)
		c.Backoff.UnreachableFirst, c.Backoff.UnreachableMax, c.Backoff.Quick = time.Hour, time.Hour, []time.Duration{}
		q := run(t, newQueue(t, r.Client, c))
		register(t, q.Queue, world.App{BaseURL: "http://old", DeploymentID: "dpl_1"})
		enqueue(t, q, flow("wrun_1"))
		require.Equal(t, "http://old", a.goesTo(t))
		register(t, q.Queue, world.App{BaseURL: "http://new", DeploymentID: "dpl_1"})
		close(release)
		require.Equal(t, "http://new", a.goesTo(t))
		requireQuiet(t, r)
	})
}

var (
	_ world.AppRegistry = (*queue.Queue)(nil)
	_ world.Queue       = (*queue.Queue)(nil)
)

// A proxy's answer instead of the app's is not charged: the message waits, and the app counts as down, unless the proxy
// only did not wait long enough. If the app has perhaps seen the message, the next delivery is not a first attempt.
func TestAnswersOfProxiesAreNotCharged(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	between := func(status int, sent bool) world.Outcome {
		return world.Outcome{Verdict: world.Unreachable, Between: true, Status: status, Sent: sent, Reason: "a proxy says " + strconv.Itoa(status)}
	}
	a := newApp(inTurn(between(407, false), between(407, false), between(407, false), between(502, true), between(504, true), between(504, true)))
	c, said := config(r, a), &worldtest.Log{}
	c.Logger = said.Logger()
	q := run(t, newQueue(t, r.Client, c))
	id := enqueue(t, q, stepOf("wrun_1", "step_1"))
	a.await(t, 7)
	require.Equal(t, []int{1, 1, 1, 1, 2, 2, 2}, a.attempts(id))
	requireQuiet(t, r)
	m, err := q.GetMessage(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 0, m.Failed)
	require.Equal(t, 1, said.Count("the app cannot be reached"))
	require.Equal(t, 1, said.Count("a proxy says 504"), "once")
}

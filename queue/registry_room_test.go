package queue_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// readsOfAll counts how often all registrations are read.
type readsOfAll struct{ n atomic.Int64 }

func (*readsOfAll) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r *readsOfAll) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hgetall" {
			r.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (*readsOfAll) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// At most a thousand apps may be registered. One more replaces one that is not alive, and is refused if there is none.
// A registration does not read the others.
func TestRegistrationsAreBounded(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	client := redis.NewClient(&redis.Options{Addr: r.Addr})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	reads := &readsOfAll{}
	client.AddHook(reads)
	clock := worldtest.StoppedClock(time.Now()) // or leases lapse while a busy machine registers a thousand
	clock.Tick(time.Millisecond)
	c := config(r, newApp(nil))
	c.Clock = clock
	q := newQueue(t, client, c)
	nth := func(i int) world.App {
		return world.App{BaseURL: fmt.Sprintf("http://app-%d", i), DeploymentID: fmt.Sprintf("dpl_%d", i), Lease: time.Minute}
	}
	const most = 1000
	for i := range most {
		register(t, q, nth(i))
		clock.Add(time.Millisecond)
	}
	require.EqualValues(t, 1, reads.n.Load(), "what need not be kept is looked for once in ten minutes")
	refusal := new(world.Error)
	require.ErrorAs(t, q.RegisterApp(t.Context(), nth(most)), &refusal)
	require.Equal(t, world.CodeThrottled, refusal.Code)
	require.Positive(t, refusal.RetryAfter)
	require.Equal(t, "the app is not registered: 1000 apps are, which is the limit, and all of them are alive; unregister some, or let their leases lapse", refusal.Message)
	names := func() string {
		fields, err := r.Client.HKeys(t.Context(), r.Prefix+"apps").Result()
		require.NoError(t, err)
		require.LessOrEqual(t, len(fields), most)
		return strings.Join(fields, "\n") + "\n"
	}
	require.NotContains(t, names(), "http://app-1000")
	looks := reads.n.Load()
	for i := range 10 {
		require.Error(t, q.RegisterApp(t.Context(), nth(most+i)))
	}
	require.Equal(t, looks, reads.n.Load(), "that there is no room is known for a while")

	clock.Add(6 * time.Second)
	register(t, q, nth(7)) // it is known, so there is room
	require.NoError(t, q.UnregisterApp(t.Context(), nth(8).BaseURL, nth(8).DeploymentID))
	require.NoError(t, q.UnregisterApp(t.Context(), nth(5).BaseURL, nth(5).DeploymentID))
	register(t, q, nth(most))
	require.Contains(t, names(), "http://app-1000\n")
	require.NotContains(t, names(), "http://app-5\n")
	require.NotContains(t, names(), "http://app-8\n")
	require.Contains(t, names(), "http://app-4\n")
	register(t, q, nth(most+1))
	require.Error(t, q.RegisterApp(t.Context(), nth(most+2)))

	clock.Add(2 * time.Minute) // all have lapsed; those that were seen last stay
	before := reads.n.Load()
	for i := range 10 {
		register(t, q, nth(2*most+i))
	}
	require.Equal(t, before+1, reads.n.Load(), "there is room for several then")
	require.NotContains(t, names(), "http://app-0\n")
	require.Contains(t, names(), "http://app-7\n")
}

// An address to which the service does not connect is not registered. One that an older build registered gets nothing,
// and the messages that wait for it say why; the configured app and other apps of the deployment are not affected.
func TestAppsThatAreNotCalledGetNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := newApp(always(world.Outcome{Verdict: world.Done}))
		c := config(r, a)
		older := newQueue(t, r.Client, c)
		register(t, older, world.App{BaseURL: "http://bad", DeploymentID: "dpl_1"})
		said := &worldtest.Log{}
		c.Logger = said.Logger()
		c.MayCall = func(baseURL string) error {
			if baseURL == "http://bad" {
				return errors.New("it is bad")
			}
			return nil
		}
		q := run(t, newQueue(t, r.Client, c))
		err := q.RegisterApp(t.Context(), world.App{BaseURL: "http://bad/", DeploymentID: "dpl_2"})
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		require.ErrorContains(t, err, "baseUrl is refused: it is bad")
		apps, err := q.ListApps(t.Context())
		require.NoError(t, err)
		require.Len(t, apps, 1)
		require.Equal(t, "it is bad", apps[0].Refused)

		enqueue(t, q, ofDeployment("dpl_1"))
		held(t, q, 1)
		require.Empty(t, a.seen())
		require.Equal(t, 1, said.Count(`level=WARN msg="messages wait: no app of deployment \"dpl_1\" has registered; there is http://bad (it is bad); register the app at another address`))
		enqueue(t, q, ofDeployment("dpl_3"))
		require.Equal(t, "http://app", a.goesTo(t))
		register(t, q.Queue, world.App{BaseURL: "http://good", DeploymentID: "dpl_1"})
		require.Equal(t, "http://good", a.goesTo(t))
		requireQuiet(t, r)
	})
}

// An app whose name resolves to an address to which the service does not connect is tried as seldom as a missing one,
// with an immediate warning. Another app of the deployment gets the message.
func TestAnAddressWhereNoAppCanBeIsSeldomTried(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := newApp(func(_ context.Context, d world.Delivery) world.Outcome {
		if d.BaseURL == "http://bad" {
			return world.Outcome{Verdict: world.Unreachable, NoApp: true, Reason: "it leads astray"}
		}
		return world.Outcome{Verdict: world.Done}
	})
	c, said := config(r, a), &worldtest.Log{}
	c.Logger = said.Logger()
	q := run(t, newQueue(t, r.Client, c)) // NoTarget is an hour
	register(t, q.Queue, world.App{BaseURL: "http://bad", DeploymentID: "dpl_1"})
	enqueue(t, q, ofDeployment("dpl_1"))
	held(t, q, 1)
	for range 19 {
		enqueue(t, q, ofDeployment("dpl_1"))
	}
	held(t, q, 20)
	require.LessOrEqual(t, len(a.seen()), 3, "one of its messages, and one more for each queue that notices the registration later")
	require.Equal(t, 1, said.Count(`level=WARN msg="no app can be at this address`))
	page, err := q.ListMessages(t.Context(), world.MessageQuery{})
	require.NoError(t, err)
	for _, m := range page.Data {
		require.Equal(t, "it leads astray", m.Reason)
		require.Equal(t, 1, m.Attempt)
	}
	register(t, q.Queue, world.App{BaseURL: "http://good", DeploymentID: "dpl_1"})
	requireQuiet(t, r)
	for _, d := range a.seen()[1:] {
		require.Contains(t, []string{"http://good", "http://bad"}, d.BaseURL)
	}
}

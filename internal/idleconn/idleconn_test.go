package idleconn_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/idleconn"
	"github.com/world-redis/world-redis/internal/quietconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find) }

// pool is a client whose connections are in a Set that checks them when the test says so.
type pool struct {
	t      *testing.T
	set    *idleconn.Set
	client *redis.Client
	name   string
	admin  redis.UniversalClient
}

func newPool(t *testing.T, r *redistest.Redis, dial idleconn.Dial) *pool {
	t.Helper()
	p := &pool{t: t, set: idleconn.New(), name: strings.TrimSuffix(r.Prefix, ":"), admin: r.Client}
	p.client = redis.NewClient(&redis.Options{
		Addr: r.Addr, Dialer: p.set.Dialer(dial), ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: 20, ClientName: p.name,
	})
	t.Cleanup(func() { require.NoError(t, p.client.Close()) })
	return p
}

// burst makes n concurrent calls, each on its own connection.
func (p *pool) burst(n int) {
	p.t.Helper()
	var calls sync.WaitGroup
	key := p.name + ":go"
	for range n {
		calls.Go(func() { require.NoError(p.t, p.client.BLPop(p.t.Context(), 0, key).Err()) })
	}
	require.Eventually(p.t, func() bool {
		return p.blocked(p.admin.ClientList(p.t.Context()).Val()) == n
	}, time.Minute, time.Millisecond)
	for range n {
		require.NoError(p.t, p.admin.LPush(p.t.Context(), key, "x").Err())
	}
	calls.Wait()
}

// blocked returns how many connections of the pool wait in a blocking call.
func (p *pool) blocked(list string) (n int) {
	for line := range strings.Lines(list) {
		if strings.Contains(line, " name="+p.name+" ") && strings.Contains(line, " flags=b ") {
			n++
		}
	}
	return n
}

// open returns how many connections the pool has to Redis.
func (p *pool) open() int {
	p.t.Helper()
	list, err := p.admin.ClientList(p.t.Context()).Result()
	require.NoError(p.t, err)
	return strings.Count(list, " name="+p.name+" ")
}

func (p *pool) awaitOpen(n int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.open() == n }, time.Minute, 10*time.Millisecond)
}

func plain(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// After a burst all connections except two are closed, once they have been idle for some ticks. No call fails because
// of that, although none is repeated here, and the next burst dials again.
func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]idleconn.Dial{
		"plain": plain, "quiet": quietconn.Dialer(plain), "unseen, as with TLS": func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := plain(ctx, network, address)
			return struct{ net.Conn }{c}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, redistest.New(t), dial)
			for range 2 {
				p.burst(10)
				p.awaitOpen(10)
				p.set.Retire(time.Now())
				require.Equal(t, 10, p.open())
				p.set.Retire(time.Now().Add(idleconn.IdleTime))
				p.awaitOpen(idleconn.Kept)
				for range 5 {
					p.burst(idleconn.Kept)
				}
				require.Equal(t, idleconn.Kept, p.open())
			}
		})
	}
}

// A connection that waits is in use, however long it waits: one with a subscription, and one with a blocking call.
func TestWaitingConnectionsStay(t *testing.T) {
	t.Parallel()
	p := newPool(t, redistest.New(t), plain)
	channel := p.name + ":channel"
	heard := p.client.Subscribe(t.Context(), channel)
	t.Cleanup(func() { require.NoError(t, heard.Close()) })
	messages := heard.Channel()
	p.burst(5)
	popped := make(chan error, 1)
	go func() { popped <- p.client.BLPop(t.Context(), 0, p.name+":list").Err() }()
	require.Eventually(t, func() bool {
		list := p.admin.ClientList(t.Context()).Val()
		return strings.Contains(list, " sub=1 ") && p.blocked(list) == 1
	}, time.Minute, 10*time.Millisecond)
	p.set.Retire(time.Now().Add(idleconn.IdleTime))
	p.awaitOpen(idleconn.Kept + 2)
	require.NoError(t, p.admin.Publish(t.Context(), channel, "hello").Err())
	require.Equal(t, "hello", (<-messages).Payload)
	require.NoError(t, p.admin.LPush(t.Context(), p.name+":list", "x").Err())
	require.NoError(t, <-popped)
}

// A Set that watches connections ends with Close, also before anything was dialled.
func TestClose(t *testing.T) {
	t.Parallel()
	s := idleconn.New()
	s.Watch()
	s.Close()
}

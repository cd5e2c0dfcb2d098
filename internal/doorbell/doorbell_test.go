package doorbell_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find, redistest.OnCluster) }

const patience = 20 * time.Second

// ear records the messages of a bell.
type ear struct {
	ready chan struct{}
	heard chan string
}

func newEar() *ear { return &ear{ready: make(chan struct{}, 100), heard: make(chan string, 100)} }

func (e *ear) Ready()              { e.ready <- struct{}{} }
func (e *ear) Ring(payload string) { e.heard <- payload }

func next[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		var none T
		return none
	}
}

// start runs a bell until the test ends.
func start(t *testing.T, r *redistest.Redis) *doorbell.Bell {
	t.Helper()
	b := doorbell.New(r.Client, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return b
}

// A listener that has joined, and was notified of it, receives every message of its channel and no others; one that has
// left receives none.
func TestListenersReceiveTheirChannel(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := start(t, r)
		publish := func(channel, payload string) {
			require.NoError(t, r.Client.Publish(t.Context(), r.Prefix+channel, payload).Err())
		}
		one, two := newEar(), newEar()
		b.Join(r.Prefix+"one", one)
		b.Join(r.Prefix+"two", two)
		next(t, one.ready)
		next(t, two.ready)
		// One after the other: the nodes of a cluster forward messages from different nodes in no common order.
		publish("one", "a")
		require.Equal(t, "a", next(t, one.heard))
		publish("two", "b")
		require.Equal(t, "b", next(t, two.heard))
		publish("one", "")
		require.Empty(t, next(t, one.heard))
		require.Equal(t, int64(3), b.Heard())

		// A channel that is left and joined again, perhaps before the connection noticed: the new listener is notified,
		// too.
		b.Leave(r.Prefix + "one")
		again := newEar()
		b.Join(r.Prefix+"one", again)
		next(t, again.ready)
		publish("one", "c")
		require.Equal(t, "c", next(t, again.heard))
		b.Leave(r.Prefix + "one")
		publish("one", "d")
		publish("two", "e")
		require.Equal(t, "e", next(t, two.heard))
		require.Empty(t, one.heard)
		require.Empty(t, again.heard)
	})
}

// A new connection, on request or because the old one broke, has the same channels, and notifies each listener that
// messages may have been missed.
func TestANewConnectionNotifiesItsListeners(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	b := start(t, r)
	e := newEar()
	b.Join(r.Prefix+"x", e)
	next(t, e.ready)
	b.Renew()
	next(t, e.ready)
	require.NoError(t, r.Client.Publish(t.Context(), r.Prefix+"x", "a").Err())
	require.Equal(t, "a", next(t, e.heard))
}

// A channel that is joined before the bell runs is received once it does.
func TestJoinBeforeRun(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	b := doorbell.New(r.Client, slog.New(slog.DiscardHandler))
	b.Renew() // there is nothing to renew yet
	e := newEar()
	b.Join(r.Prefix+"x", e)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	next(t, e.ready)
	cancel()
	require.NoError(t, <-ended)
}

// Two parts of a process run one bell: there is one connection, and when the part that holds it ends, the other one
// takes over.
func TestTwoPartsRunOneBell(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	b := doorbell.New(client, slog.New(slog.DiscardHandler))
	e := newEar()
	b.Join("x", e)
	first, endFirst := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- b.Run(first) }()
	next(t, e.ready)
	second, endSecond := context.WithCancel(t.Context())
	go func() { ended <- b.Run(second) }()
	subscribers := func() string {
		list, err := client.ClientList(t.Context()).Result()
		require.NoError(t, err)
		return strconv.Itoa(strings.Count(list, " sub=1"))
	}
	require.Equal(t, "1", subscribers())
	endFirst()
	require.NoError(t, <-ended)
	next(t, e.ready)
	require.NoError(t, client.Publish(t.Context(), "x", "a").Err())
	require.Equal(t, "a", next(t, e.heard))
	require.Equal(t, "1", subscribers())
	endSecond()
	require.NoError(t, <-ended)
}

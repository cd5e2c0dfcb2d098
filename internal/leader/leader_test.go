package leader

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find, redistest.OnCluster) }

const patience = 20 * time.Second

// replica is a process that may lead.
type replica struct {
	*Lease
	t     *testing.T
	clock *worldtest.Clock
	stop  func()
}

// newReplica returns one that has not started, with a tenth of the usual times.
func newReplica(t *testing.T, r *redistest.Redis, client redis.UniversalClient) *replica {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	clock := &worldtest.Clock{}
	bell := doorbell.New(client, log)
	l, err := New(t.Context(), client, Config{Prefix: r.Prefix, Bell: bell, Clock: clock, Logger: log})
	require.NoError(t, err)
	for _, d := range []*time.Duration{&l.times.lease, &l.times.spare, &l.times.beat, &l.times.silence, &l.times.quiet, &l.times.pause} {
		*d /= 10
	}
	return &replica{Lease: l, t: t, clock: clock, stop: func() {}}
}

// run runs the replica until it is stopped, at the latest at the end of the test.
func (p *replica) run() *replica {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- p.bell.Run(ctx) }()
	go func() { ended <- p.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(p.t, <-ended)
		require.NoError(p.t, <-ended)
	})
	p.t.Cleanup(p.stop)
	return p
}

func (p *replica) leads() bool { return p.Term() != 0 }

func (p *replica) awaitLead() int64 {
	p.t.Helper()
	require.Eventually(p.t, p.leads, patience, time.Millisecond)
	return p.Term()
}

// One of several replicas leads, and the others are notified. When it stops, another one is notified and leads
// immediately, in a term with a greater number: without the notification it would wait for an hour here.
func TestOneLeadsUntilItStops(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		patient := func() *replica {
			p := newReplica(t, r, r.Client)
			p.times.lease, p.times.silence = time.Hour, time.Hour
			return p.run()
		}
		first := patient()
		term := first.awaitLead()
		others := []*replica{patient(), patient()}
		for _, other := range others {
			require.Eventually(t, other.Relieved, patience, time.Millisecond)
			require.False(t, other.leads())
		}
		require.False(t, first.Relieved())
		require.Equal(t, term, first.Term())
		first.stop()
		require.False(t, first.leads())
		require.Eventually(t, func() bool { return others[0].leads() != others[1].leads() }, patience, time.Millisecond)
		require.Greater(t, max(others[0].Term(), others[1].Term()), term)
	})
}

// A leader that is killed is replaced once its lease has lapsed, and until then no replica relies on it for long.
func TestAKilledLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	killed := newReplica(t, r, r.Client)
	_, leads := killed.ask(t.Context())
	require.True(t, leads)
	term := killed.Term()
	other := newReplica(t, r, r.Client).run()
	require.Eventually(t, func() bool {
		killed.tell(t.Context())
		return other.Relieved()
	}, patience, time.Millisecond)
	// From now on it makes no announcements.
	require.Eventually(t, func() bool { return !other.Relieved() }, patience, time.Millisecond)
	require.Greater(t, other.awaitLead(), term)
	require.False(t, killed.leads(), "its own clock told it before")
}

// A leader that was paused for half a minute during its work notices that its term is over before it writes anything
// more, and that is not an error. Another one has led since.
func TestALeaderThatStoodStillWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		frozen, other := newReplica(t, r, r.Client), newReplica(t, r, r.Client)
		frozen.times, other.times = usual, usual
		_, leads := frozen.ask(t.Context())
		require.True(t, leads)
		_, leads = other.ask(t.Context())
		require.False(t, leads)
		term, key := frozen.Term(), r.Prefix+"written"

		led, err := frozen.Lead(t.Context(), func(ctx context.Context) error {
			require.NoError(t, r.Client.Append(ctx, key, "a").Err())
			frozen.clock.Add(30 * time.Second)
			require.NoError(t, r.Client.Del(t.Context(), frozen.lease).Err()) // as when it lapses
			_, leads := other.ask(t.Context())
			require.True(t, leads)
			require.Greater(t, other.Term(), term)
			return r.Client.Append(ctx, key, "b").Err()
		})
		require.NoError(t, err)
		require.False(t, led)
		require.Equal(t, "a", r.Client.Get(t.Context(), key).Val())

		_, leads = frozen.ask(t.Context())
		require.False(t, leads)
		led, err = frozen.Lead(t.Context(), func(context.Context) error { return errors.New("it does not lead") })
		require.NoError(t, err)
		require.False(t, led)
		require.NotZero(t, other.Term())
	})
}

// A portion that waits ends with the term, and a long one continues as long as the lease is renewed.
func TestAPortionEndsWithTheTerm(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	p := newReplica(t, r, r.Client)
	p.times = usual
	_, leads := p.ask(t.Context())
	require.True(t, leads)
	led, err := p.Lead(t.Context(), func(ctx context.Context) error {
		before, _ := ctx.Deadline()
		p.clock.Add(5 * time.Second)
		_, leads := p.ask(t.Context())
		require.True(t, leads)
		after, _ := ctx.Deadline()
		require.Greater(t, after, before)
		require.NoError(t, ctx.Err())

		require.NoError(t, r.Client.Set(t.Context(), p.lease, "1 another", 0).Err())
		_, leads = p.ask(t.Context())
		require.False(t, leads)
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, err)
	require.False(t, led)
}

// The number of a term is greater than those of all earlier ones, even if Redis has lost the last ones, or if its clock
// was set back.
func TestTermsGrow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		p := newReplica(t, r, r.Client)
		take := func() int64 {
			require.NoError(t, r.Client.Del(t.Context(), p.lease).Err())
			number, _, err := p.call(t.Context())
			require.NoError(t, err)
			return number
		}
		first := take()
		require.Greater(t, take(), first)
		require.NoError(t, r.Client.Del(t.Context(), p.Lease.term).Err())
		require.InDelta(t, time.Now().UnixMilli(), take(), 60_000)
		const ahead = 4_000_000_000_000
		require.NoError(t, r.Client.Set(t.Context(), p.Lease.term, int64(ahead), 0).Err())
		require.Equal(t, int64(ahead+1), take())
		require.Equal(t, int64(ahead+2), take())
	})
}

// Without the right to publish, as with an ACL without channels, the other replicas poll and none of them takes over.
func TestWithoutChannels(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := redistest.Client(t, server.Addr)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "mute", "on", ">pw", "+@all", "~*", "resetchannels").Err())
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "mute", Password: "pw", ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r := &redistest.Redis{Client: client, Addr: server.Addr, Prefix: "mute:"}
	first := newReplica(t, r, client).run()
	term := first.awaitLead()
	other := newReplica(t, r, client)
	for range 3 {
		_, leads := other.ask(t.Context())
		require.False(t, leads)
	}
	other.run()
	require.Equal(t, term, first.Term())
	first.stop()
	require.Greater(t, other.awaitLead(), term)
}

// An error of a portion during the term is returned.
func TestAPortionFails(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	p := newReplica(t, r, r.Client)
	p.times = usual
	_, leads := p.ask(t.Context())
	require.True(t, leads)
	broken := errors.New("broken")
	led, err := p.Lead(t.Context(), func(context.Context) error { return broken })
	require.True(t, led)
	require.ErrorIs(t, err, broken)
}

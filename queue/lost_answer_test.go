package queue

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
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

// deaf is a client that loses the answers to calls which name a text: Redis carries them out, and then the connection breaks.
type deaf struct {
	redis.UniversalClient
	text string
	lose atomic.Int64 // so many answers
	lost func()       // called before the caller learns of it
}

// newDeaf returns a client on the Redis of a test. With again go-redis sends a call again, as it usually does.
func newDeaf(t *testing.T, r *redistest.Redis, text string, again bool) *deaf {
	t.Helper()
	d := &deaf{text: text, lost: func() {}}
	redirects, retries := 0, 0 // the defaults
	if !again {
		redirects, retries = -1, -1
	}
	switch original := r.Client.(type) {
	case *redis.ClusterClient:
		d.UniversalClient = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: original.Options().Addrs, ContextTimeoutEnabled: true, MaxRedirects: redirects, Dialer: d.dial,
		})
	case *redis.Client:
		d.UniversalClient = redis.NewClient(&redis.Options{
			Addr: original.Options().Addr, Password: original.Options().Password, ContextTimeoutEnabled: true, MaxRetries: retries, Dialer: d.dial,
		})
	}
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func (d *deaf) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &deafConn{Conn: c, d: d}, nil
}

type deafConn struct {
	net.Conn
	d     *deaf
	loses bool
}

func (c *deafConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.d.text)) && c.d.lose.Add(-1) >= 0 {
		c.loses = true
	}
	return c.Conn.Write(b)
}

func (c *deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.loses || err != nil {
		return n, err
	}
	c.d.lost()
	return 0, io.EOF
}

// Redis carries out a call that takes messages, and its answer is lost: they are delivered without waiting for the lease, here
// for years, and as the first attempt. So it is where go-redis sends the call again, and where the call fails.
func TestMessagesWhoseTakingIsNotAnsweredAreDelivered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for name, again := range map[string]bool{"sent again": true, "fails": false} {
			t.Run(name, func(t *testing.T) {
				r := *r
				r.Prefix = strings.TrimSuffix(r.Prefix, ":") + fmt.Sprint(again) + ":"
				d := newDeaf(t, &r, ":paused", again) // a key that this call alone has
				deliveries := make(chan world.Delivery, 100)
				copied := r
				copied.Client = d
				q := replica(t, &copied, nil, func(d world.Delivery) world.Outcome {
					deliveries <- d
					return world.Outcome{Verdict: world.Done}
				})
				var taken atomic.Int64
				d.lost = func() {
					held := r.Client.ZRange(context.Background(), q.steps.keys.lease, 0, -1).Val()
					taken.Add(int64(len(held)))
					for _, id := range held {
						r.Client.ZAddXX(context.Background(), q.steps.keys.lease, redis.Z{Score: 4_000_000_000, Member: id})
					}
				}
				stop := runUntilStopped(t, q)
				for i := 0; taken.Load() < 3; i++ { // a look at an empty list may lose its answer, too
					require.Less(t, i, 50)
					d.lose.Store(1)
					_, _ = q.Enqueue(t.Context(), world.Message{ // where it fails, it may be stored all the same
						QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_1", StepID: fmt.Sprint("step_", i), IdempotencyKey: fmt.Sprint("step_", i),
					})
					select {
					case d := <-deliveries:
						require.Equal(t, fmt.Sprint("step_", i), d.StepID)
						require.Equal(t, 1, d.Attempt)
					case <-time.After(20 * time.Second):
						require.FailNow(t, "no delivery")
					}
				}
				stop()
				require.Empty(t, deliveries, "and none twice")
				require.Zero(t, r.Client.ZCard(t.Context(), q.steps.keys.lease).Val())
			})
		}
	})
}

// runUntilStopped runs a queue.
func runUntilStopped(t *testing.T, q *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Run(ctx) }()
	t.Cleanup(cancel)
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// carryOut makes a call that takes messages, at Redis alone.
func carryOut(t *testing.T, l *lane, call claimCall) {
	t.Helper()
	_, err := call.call.Script.Run(t.Context(), l.q.redis, call.call.Keys, call.call.Args...)
	require.NoError(t, err)
}

// loseClaim has Redis carry out a call, nobody hears of it.
func loseClaim(t *testing.T, l *lane) {
	t.Helper()
	call := l.newClaimCall()
	carryOut(t, l, call)
	l.lost.add(call)
}

func addStep(t *testing.T, q *Queue, step string) string {
	t.Helper()
	id, err := q.Enqueue(t.Context(), world.Message{
		QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_1", StepID: step, IdempotencyKey: step,
	})
	require.NoError(t, err)
	return id
}

// What a call took whose answer was lost is put back as it was, in its order, and nothing of others is touched. To do that twice
// changes nothing more.
func TestLostTakesAreUndone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q, other := replica(t, r, nil, nil0), replica(t, r, nil, nil0)
		l := q.steps
		add(t, other)
		theirs := takeOne(t, other.steps)
		var ids []string
		for i := range 5 {
			ids = append(ids, addStep(t, q, fmt.Sprint("step ", i)))
		}
		require.NoError(t, r.Client.HSet(t.Context(), l.keys.task+ids[1], "begun", "now").Err(), "an app has perhaps seen it before")
		state := func() (states []map[string]any) {
			for _, id := range append(ids, theirs.id) {
				state := all(t, r, l, id)
				delete(state["task"].(map[string]string), "pending_since")
				states = append(states, state)
			}
			return states
		}
		before := state()
		before[1]["task"].(map[string]string)["begun"] = "before"
		loseClaim(t, l)
		require.NotEqual(t, before, state())
		for range 2 {
			l.undoLost()
			require.Equal(t, before, state())
		}
		_, err := l.claim()
		require.NoError(t, err)
		for i, id := range ids {
			c := l.fromBuffer()
			require.Equal(t, id, c.id)
			require.Equal(t, map[bool]int{false: 1, true: 2}[i == 1], c.attempt())
		}
		l.undoLost()
		require.EqualValues(t, 6, r.Client.ZCard(t.Context(), l.keys.lease).Val(), "what was taken since then stays")
	})
}

// A message whose run ended while nobody knew that it was taken is dropped, as when its lease lapses.
func TestALostTakeOfAnEndedRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		id := add(t, q)
		loseClaim(t, q.steps)
		require.NoError(t, r.Client.HSet(t.Context(), q.steps.keys.task+id, "over", 1).Err())
		q.steps.undoLost()
		left := all(t, r, q.steps, id)
		for name, value := range left {
			require.Empty(t, value, name)
		}
	})
}

// A call may be carried out long after its caller gave it up, until the deadline that it bears. So it is undone once more when
// that has passed, and then forgotten.
func TestALostTakeMayBeLate(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		l := q.steps
		id := add(t, q)
		call := l.newClaimCall()
		l.lost.add(call)
		require.True(t, l.lost.news())
		l.undoLost()
		require.False(t, l.lost.news())
		carryOut(t, l, call)
		require.NoError(t, r.Client.LPos(t.Context(), l.keys.active, id, redis.LPosArgs{}).Err())
		require.True(t, l.lost.exist())
		l.lost.calls[0].asked = time.Now().Add(-lostLate)
		l.undoLost()
		require.False(t, l.lost.exist())
		require.Equal(t, id, takeOne(t, l).id)

		call = l.newClaimCall()
		call.asked = time.Now().Add(-time.Hour)
		l.lost.add(call)
		l.undoLost()
		require.False(t, l.lost.exist(), "what it took has no lease any more")
	})
}

// Messages are found behind more leases than one call looks at, and many of them.
func TestLostTakesAmongManyLeases(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		q := replica(t, r, nil, nil0)
		l := q.steps
		var leases []redis.Z
		for i := range 1200 {
			leases = append(leases, redis.Z{Score: 1_000_000_000.5, Member: fmt.Sprint("a", i)})
		}
		require.NoError(t, r.Client.ZAdd(t.Context(), l.keys.lease, leases...).Err())
		for i := range 12 * claimAtOnce {
			addStep(t, q, fmt.Sprint("step ", i))
		}
		for range 12 {
			loseClaim(t, l)
		}
		require.Zero(t, r.Client.LLen(t.Context(), l.keys.pending).Val())
		l.undoLost()
		require.EqualValues(t, 12*claimAtOnce, r.Client.LLen(t.Context(), l.keys.pending).Val())
		require.EqualValues(t, 1200, r.Client.ZCard(t.Context(), l.keys.lease).Val())
		require.Zero(t, r.Client.LLen(t.Context(), l.keys.active).Val())
	})
}

func TestLostAnswersAreBounded(t *testing.T) {
	t.Parallel()
	var a lostAnswers
	for i := range 2 * lostMost {
		owner := &claimOwner{name: fmt.Sprint(i)}
		_, err := owner.MarshalBinary()
		require.NoError(t, err)
		a.add(claimCall{owner: owner, asked: time.Now()})
	}
	tokens := a.tokens()
	require.Len(t, tokens, lostMost)
	require.Equal(t, fmt.Sprint(2*lostMost-1), tokens[lostMost-1])
}

// Each sending of a call has a token of its own; the answer is that to the last one.
func TestEachSendingHasAToken(t *testing.T) {
	t.Parallel()
	owner := &claimOwner{name: "process.1"}
	var a lostAnswers
	a.add(claimCall{owner: owner})
	require.Empty(t, a.tokens(), "it was not sent yet")
	for _, want := range []string{"process.1", "process.1.2", "process.1.3"} {
		sent, err := owner.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, want, string(sent))
		require.Equal(t, want, owner.answered())
	}
	require.Equal(t, []any{"process.1", "process.1.2", "process.1.3"}, a.tokens())
	var answered lostAnswers
	answered.addEarlier(claimCall{owner: owner})
	require.Equal(t, []any{"process.1", "process.1.2"}, answered.tokens())
}

// The answer to an outcome is lost, and go-redis writes it again: this process learns when the message is due, or that one is
// there, and nobody is warned.
func TestAnOutcomeWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for name, due := range map[string]world.Millis{"now": 0, "later": world.MillisOf(time.Now().Add(time.Hour))} {
			t.Run(name, func(t *testing.T) {
				d := newDeaf(t, r, "\r\nmoved\r\n", true)
				copied := *r
				copied.Client = d
				q := replica(t, &copied, nil, nil0)
				said := &worldtest.Log{}
				l := q.steps
				l.log = slog.New(slog.NewTextHandler(said, nil))
				addStep(t, q, name)
				c := takeOne(t, l)
				rung := l.bell.listen()
				d.lose.Store(1)
				l.finish(c, outcome{disposition: dispositionRescheduled, due: due})
				require.Negative(t, d.lose.Load(), "it was sent again")
				require.Equal(t, due != 0, l.due.wait(2*time.Hour) < 2*time.Hour)
				select {
				case <-rung:
					require.Zero(t, due)
				default:
					require.NotZero(t, due)
				}
				require.Empty(t, said.String())
			})
		}
	})
}

// The answer to a message is lost, and go-redis sends it again, where its request id is known by now: this process learns all the
// same that the message is there.
func TestAMessageWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		d := newDeaf(t, r, "}:request:", true)
		copied := *r
		copied.Client = d
		q := replica(t, &copied, nil, nil0)
		rung := q.steps.bell.listen()
		d.lose.Store(1)
		id, err := q.Enqueue(t.Context(), world.Message{QueueName: "__wkf_step_x", ContentType: "application/cbor", RunID: "wrun_1", StepID: "step", RequestID: "request"})
		require.NoError(t, err)
		require.Negative(t, d.lose.Load(), "it was sent again")
		select {
		case <-rung:
		default:
			require.FailNow(t, "nobody looks at the queue")
		}
		require.Equal(t, id, takeOne(t, q.steps).id)
	})
}

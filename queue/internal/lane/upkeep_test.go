package lane

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// sweep is Sweep for tests in which nothing is left for the next sweep.
func (l *Lane) sweep(ctx context.Context) error {
	_, err := l.Sweep(ctx)
	return err
}

// A replica with many deliveries died, each of its messages has a successor, and as many messages are due: the upkeep
// of another replica, which has many leases, returns them all, and none of its scripts makes more than 2,000 calls.
func TestUpkeepOfManyMessagesIsShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := &redistest.Redis{Client: redistest.Client(t, server.Addr), Addr: server.Addr, Prefix: "upkeep:"}
	l := replica(t, r, nil)
	k := &l.Keys
	const dead, due, held = 300, 300, 600
	ctx := t.Context()
	_, err := r.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range dead {
			id, next, run := fmt.Sprintf("msg_dead%d", i), fmt.Sprintf("msg_next%d", i), fmt.Sprintf("wrun_%d", i)
			p.HSet(ctx, k.Task+id, "solo", run, "owner", "dead", "state", "active")
			p.LPush(ctx, k.Active, id)
			p.HSet(ctx, k.Running, run, id+" 1")
			p.HSet(ctx, k.Parked, run, next)
			p.HSet(ctx, k.Task+next, "solo", run, "parked", "1", "state", "scheduled")
			p.ZAdd(ctx, k.Scheduled, redis.Z{Score: float64(time.Now().Add(time.Hour).Unix()), Member: next})
			if i%3 > 0 { // the others have no lease at all
				p.ZAdd(ctx, k.Lease, redis.Z{Score: 1, Member: id})
			}
		}
		for i := range due {
			id := fmt.Sprintf("msg_due%d", i)
			p.HSet(ctx, k.Task+id, "state", "retry", "parked", "1", "solo", "wrun_due")
			p.ZAdd(ctx, k.Retry, redis.Z{Score: 1, Member: id})
		}
		for i := range held {
			id := fmt.Sprintf("msg_held%d", i)
			p.HSet(ctx, k.Task+id, "owner", id, "state", "active")
			p.LPush(ctx, k.Active, id)
			p.ZAdd(ctx, k.Lease, redis.Z{Score: float64(time.Now().Add(time.Hour).Unix()), Member: id})
		}
		return nil
	})
	require.NoError(t, err)
	for i := range held {
		id := fmt.Sprintf("msg_held%d", i)
		l.claims[&Claim{ID: id, Owner: id, App: "http://app", cancel: func(error) {}}] = struct{}{}
	}

	monitor := redistest.NewMonitor(t, server.Addr)
	rounds := 0
	for more := true; more || l.backlog.exists() || r.Client.LLen(ctx, k.Active).Val() > held; rounds++ {
		more, err = l.Sweep(ctx)
		require.NoError(t, err)
		require.NoError(t, r.Client.LTrim(ctx, k.Pending, 0, 9).Err()) // what is pending is taken
		require.Less(t, rounds, 100)
	}
	work := monitor.Since()
	require.LessOrEqual(t, work.Calls, 2000)
	require.Greater(t, work.Calls, 500, "the test is about large scripts")
	require.Greater(t, rounds, 5)
	require.EqualValues(t, held, r.Client.LLen(ctx, k.Active).Val())
	require.EqualValues(t, held, r.Client.ZCard(ctx, k.Lease).Val())
	require.Zero(t, r.Client.ZCard(ctx, k.Retry).Val())
	require.Zero(t, r.Client.HLen(ctx, k.Running).Val())
	require.Zero(t, r.Client.ZCard(ctx, k.Scheduled).Val(), "each is delivered in the place of the one before it")
}

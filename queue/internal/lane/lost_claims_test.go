package lane

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// carryOut makes Redis carry out a claim whose answer is ignored.
func carryOut(t *testing.T, l *Lane, call *ClaimCall) {
	t.Helper()
	_, err := call.Script.Run(t.Context(), l.cfg.Redis, call.Keys, call.Args...)
	require.NoError(t, err)
}

// loseClaim makes Redis carry out a claim whose answer is lost.
func loseClaim(t *testing.T, l *Lane) {
	t.Helper()
	call := l.newClaimCall()
	carryOut(t, l, call)
	l.lost.add(call)
}

// The messages of a lost claim are put back in their order, and those of other claims stay. Repeating it changes
// nothing more.
func TestLostClaimsAreUndone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		l, other := replica(t, r, nil), replica(t, r, nil)
		add(t, other)
		theirs := claimOne(t, other)
		var ids []string
		for i := range 5 {
			ids = append(ids, addMessage(t, l, fmt.Sprint("step ", i)))
		}
		require.NoError(t, r.Client.HSet(t.Context(), l.Keys.Task+ids[1], "begun", "now").Err(), "an app has perhaps seen it before")
		state := func() (states []map[string]any) {
			for _, id := range append(ids, theirs.ID) {
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
			require.Equal(t, id, c.ID)
			require.Equal(t, map[bool]int{false: 1, true: 2}[i == 1], c.Attempt())
		}
		l.undoLost()
		require.EqualValues(t, 6, r.Client.ZCard(t.Context(), l.Keys.Lease).Val(), "what was claimed since then stays")
	})
}

// A message whose run has ended since its lost claim is dropped, as when its lease lapses.
func TestALostClaimOfAnEndedRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		l := replica(t, r, nil)
		id := add(t, l)
		loseClaim(t, l)
		require.NoError(t, r.Client.HSet(t.Context(), l.Keys.Task+id, "over", 1).Err())
		l.undoLost()
		left := all(t, r, l, id)
		for name, value := range left {
			require.Empty(t, value, name)
		}
	})
}

// Redis may carry out a claim long after its caller has given it up, until its deadline. So it is undone once more
// after that, and then forgotten.
func TestALostClaimMayBeLate(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		l := replica(t, r, nil)
		id := add(t, l)
		call := l.newClaimCall()
		l.lost.add(call)
		require.True(t, l.lost.untried())
		l.undoLost()
		require.False(t, l.lost.untried())
		carryOut(t, l, call)
		require.NoError(t, r.Client.LPos(t.Context(), l.Keys.Active, id, redis.LPosArgs{}).Err())
		require.True(t, l.lost.exist())
		l.lost.calls[0].asked = time.Now().Add(-lostLate)
		l.undoLost()
		require.False(t, l.lost.exist())
		require.Equal(t, id, claimOne(t, l).ID)

		call = l.newClaimCall()
		call.asked = time.Now().Add(-time.Hour)
		l.lost.add(call)
		l.undoLost()
		require.False(t, l.lost.exist(), "its messages have no lease any more")
	})
}

// Messages are found even if more leases come before them than one call looks at.
func TestLostClaimsAmongManyLeases(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		l := replica(t, r, nil)
		var leases []redis.Z
		for i := range 1200 {
			leases = append(leases, redis.Z{Score: 1_000_000_000.5, Member: fmt.Sprint("a", i)})
		}
		require.NoError(t, r.Client.ZAdd(t.Context(), l.Keys.Lease, leases...).Err())
		for i := range 12 * claimAtOnce {
			addMessage(t, l, fmt.Sprint("step ", i))
		}
		for range 12 {
			loseClaim(t, l)
		}
		require.Zero(t, r.Client.LLen(t.Context(), l.Keys.Pending).Val())
		l.undoLost()
		require.EqualValues(t, 12*claimAtOnce, r.Client.LLen(t.Context(), l.Keys.Pending).Val())
		require.EqualValues(t, 1200, r.Client.ZCard(t.Context(), l.Keys.Lease).Val())
		require.Zero(t, r.Client.LLen(t.Context(), l.Keys.Active).Val())
	})
}

func TestLostClaimsAreBounded(t *testing.T) {
	t.Parallel()
	var a lostClaims
	for i := range 2 * lostMost {
		owner := &claimOwner{name: fmt.Sprint(i)}
		_, err := owner.MarshalBinary()
		require.NoError(t, err)
		a.add(&ClaimCall{owner: owner, asked: time.Now()})
	}
	tokens := a.tokens()
	require.Len(t, tokens, lostMost)
	require.Equal(t, fmt.Sprint(2*lostMost-1), tokens[lostMost-1])
}

// Each sending of a call has its own token. The answer belongs to the last one.
func TestEachSendingHasAToken(t *testing.T) {
	t.Parallel()
	owner := &claimOwner{name: "process.1"}
	var a lostClaims
	a.add(&ClaimCall{owner: owner})
	require.Empty(t, a.tokens(), "it was not sent yet")
	for _, want := range []string{"process.1", "process.1.2", "process.1.3"} {
		sent, err := owner.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, want, string(sent))
		require.Equal(t, want, owner.answered())
	}
	require.Equal(t, []any{"process.1", "process.1.2", "process.1.3"}, a.tokens())
	var answered lostClaims
	answered.addEarlier(&ClaimCall{owner: owner})
	require.Equal(t, []any{"process.1", "process.1.2"}, answered.tokens())
}

// The answer to an outcome is lost, and go-redis sends it again: this process still learns when the message is due, or
// that one is pending, and there is no warning.
func TestAnOutcomeWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for name, due := range map[string]world.Millis{"now": 0, "later": world.MillisOf(time.Now().Add(time.Hour))} {
			t.Run(name, func(t *testing.T) {
				d := redistest.NewDeaf(t, r, "\r\nmoved\r\n", true)
				copied := *r
				copied.Client = d
				l := replica(t, &copied, nil)
				said := &worldtest.Log{}
				l.log = slog.New(slog.NewTextHandler(said, nil))
				addMessage(t, l, name)
				c := claimOne(t, l)
				rung := l.bell.listen()
				d.Lose.Store(1)
				l.Finish(c, Decision{Disposition: Rescheduled, Due: due})
				require.Negative(t, d.Lose.Load(), "it was sent again")
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

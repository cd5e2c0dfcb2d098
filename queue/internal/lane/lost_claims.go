package lane

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/queue/internal/script"
)

const (
	// lostMost is how many claim calls without an answer are remembered. The messages of others are delivered when their leases lapse.
	lostMost = 64
	// lostLate is how long Redis may carry out a call without an answer. After that the deadline of the call has passed, by any clock.
	lostLate = RedisTimeout + time.Second
	// lostPortions bounds the calls of lost_answer.lua in a row.
	lostPortions = 100
)

// claimOwner is the owner of the messages of a call of claim.lua. When a connection breaks, go-redis sends the call again. Each
// sending has its own token, so the messages of a sending whose answer was lost differ from those of the answered one.
type claimOwner struct {
	name string
	sent atomic.Int64
}

// MarshalBinary implements encoding.BinaryMarshaler. go-redis calls it each time it sends the call.
func (o *claimOwner) MarshalBinary() ([]byte, error) { return []byte(o.token(o.sent.Add(1))), nil }

func (o *claimOwner) token(sending int64) string {
	if sending <= 1 {
		return o.name
	}
	return o.name + "." + strconv.FormatInt(sending, 36)
}

// answered is the token of the sending that has the answer, which is the last one.
func (o *claimOwner) answered() string { return o.token(o.sent.Load()) }

// countedArg is an argument of a script that counts how often it is sent.
type countedArg struct {
	text string
	sent *atomic.Int64
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (a countedArg) MarshalBinary() ([]byte, error) {
	a.sent.Add(1)
	return []byte(a.text), nil
}

// lostClaims are calls of claim.lua that Redis has perhaps carried out and whose answer was lost. Nobody delivers their messages,
// so these are put back as soon as Redis answers again, before their leases lapse.
type lostClaims struct {
	mu    sync.Mutex
	calls []*lostCall
}

type lostCall struct {
	owner    *claimOwner
	asked    time.Time
	answered int64 // the sending that has an answer; 0: none
	tried    bool  // to put its messages back
}

// add notes a call that has failed. It may still be carried out.
func (a *lostClaims) add(c *ClaimCall) { a.note(c, 0) }

// addEarlier notes the sendings of a call before the one that has its answer.
func (a *lostClaims) addEarlier(c *ClaimCall) {
	if sent := c.owner.sent.Load(); sent > 1 {
		a.note(c, sent)
	}
}

func (a *lostClaims) note(c *ClaimCall, answered int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) == lostMost {
		a.calls = a.calls[1:]
	}
	a.calls = append(a.calls, &lostCall{owner: c.owner, asked: c.asked, answered: answered})
}

// untried reports whether there are calls that nobody has tried to undo.
func (a *lostClaims) untried() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls) > 0 && !a.calls[len(a.calls)-1].tried
}

func (a *lostClaims) exist() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls) > 0
}

// tokens returns the owner tokens of all sendings without an answer. The calls then count as tried.
func (a *lostClaims) tokens() []any {
	a.mu.Lock()
	defer a.mu.Unlock()
	var tokens []any
	for _, c := range a.calls {
		c.tried = true
		for sending := range c.owner.sent.Load() {
			if sending+1 != c.answered {
				tokens = append(tokens, c.owner.token(sending+1))
			}
		}
	}
	return tokens
}

// settle forgets the calls that Redis could only have carried out before a time. Their messages were put back after it.
func (a *lostClaims) settle(before time.Time) { a.forget(before.Add(-lostLate)) }

// forget forgets the calls that were made before a time.
func (a *lostClaims) forget(before time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.calls[:0]
	for _, c := range a.calls {
		if c.asked.After(before) {
			kept = append(kept, c)
		}
	}
	clear(a.calls[len(kept):])
	a.calls = kept
}

// undoLost puts the messages of calls without an answer back. Redis may carry out such a call later, so the next sweep does it
// again while that is possible. If it fails, the leases lapse in the end.
func (l *Lane) undoLost() {
	ctx, cancel := context.WithTimeout(l.cfg.Phases.Writing, RedisTimeout)
	defer cancel()
	began := time.Now()
	l.lost.forget(began.Add(-leaseTime - lostLate))
	tokens := l.lost.tokens()
	recovered, err := l.putBack(ctx, tokens)
	if err != nil {
		l.log.Debug("messages of a claim whose answer was lost wait for their leases to lapse", slog.Any("error", err))
		return
	}
	l.lost.settle(began)
	if recovered > 0 {
		l.log.Info("messages of a claim whose answer was lost are delivered now", slog.Int64("messages", recovered))
		l.bell.ring()
	}
}

// putBack puts the messages with these owner tokens back.
func (l *Lane) putBack(ctx context.Context, tokens []any) (recovered int64, err error) {
	k := &l.Keys
	keys := []string{k.Pending, k.Active, k.Lease, k.Scheduled, k.Bell, k.Running, k.Parked}
	from, skip := "-inf", int64(0)
	for range lostPortions {
		if from == "" || len(tokens) == 0 {
			break
		}
		args := append([]any{k.Task, l.cfg.Clock.Now().UnixNano(), l.cfg.Process.RingText(0), from, skip}, tokens...)
		reply, err := l.cfg.Scripts.LostAnswer.Run(ctx, l.cfg.Redis, keys, args...)
		if err != nil {
			return recovered, err
		}
		if len(reply) < 3 {
			return recovered, luascript.ErrShortReply
		}
		n, err := luascript.Int(reply[0])
		if err != nil {
			return recovered, err
		}
		recovered += n
		if from, err = script.Text(reply[1]); err != nil {
			return recovered, err
		}
		if skip, err = luascript.Int(reply[2]); err != nil {
			return recovered, err
		}
	}
	return recovered, nil
}

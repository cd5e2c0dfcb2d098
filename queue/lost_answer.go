package queue

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/world-redis/world-redis/internal/luascript"
)

const (
	// lostMost is how many calls of claim.lua without an answer are remembered. What others took is delivered when its lease lapses.
	lostMost = 64
	// lostLate is when a call without an answer is carried out no more: the deadline that it bears has passed, by any clock.
	lostLate = redisTimeout + time.Second
	// lostPortions bounds the calls of lost_answer.lua at a time.
	lostPortions = 100
)

// takeOwner is the owner of what a call of claim.lua takes. A connection that breaks makes go-redis send the call again, so each
// sending has a token of its own: what one took whose answer was lost can be told from what the answer to the next one brings.
type claimOwner struct {
	name string
	sent atomic.Int64
}

// MarshalBinary implements encoding.BinaryMarshaler. go-redis calls it whenever it sends the call.
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

// lostAnswers are calls of claim.lua that Redis perhaps carried out and whose answer did not come. Nobody delivers what they took,
// so it is given back as soon as Redis answers, and does not wait for its leases to lapse.
type lostAnswers struct {
	mu    sync.Mutex
	calls []*lostClaim
}

type lostClaim struct {
	owner    *claimOwner
	asked    time.Time
	answered int64 // the sending that has an answer; 0: none
	tried    bool  // to give back what it took
}

// add notes a call that has failed. It may be sent yet.
func (a *lostAnswers) add(t claimCall) { a.note(t, 0) }

// addEarlier notes the sendings of a call before the one that has its answer.
func (a *lostAnswers) addEarlier(t claimCall) {
	if sent := t.owner.sent.Load(); sent > 1 {
		a.note(t, sent)
	}
}

func (a *lostAnswers) note(t claimCall, answered int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) == lostMost {
		a.calls = a.calls[1:]
	}
	a.calls = append(a.calls, &lostClaim{owner: t.owner, asked: t.asked, answered: answered})
}

// news reports whether there are calls that nobody has tried to undo.
func (a *lostAnswers) news() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls) > 0 && !a.calls[len(a.calls)-1].tried
}

func (a *lostAnswers) exist() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls) > 0
}

// tokens are the owners of what the calls took, as far as they were sent. The calls count as tried.
func (a *lostAnswers) tokens() []any {
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

// settle forgets the calls that were carried out before a moment, if at all. What they took was given back after it.
func (a *lostAnswers) settle(moment time.Time) { a.forget(moment.Add(-lostLate)) }

// forget forgets the calls from before a moment.
func (a *lostAnswers) forget(moment time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.calls[:0]
	for _, c := range a.calls {
		if c.asked.After(moment) {
			kept = append(kept, c)
		}
	}
	clear(a.calls[len(kept):])
	a.calls = kept
}

// undoLost puts back what calls without an answer took. They may be carried out later: while there are such the next sweep does
// it again. Where it fails, the leases lapse in the end.
func (l *lane) undoLost() {
	ctx, cancel := context.WithTimeout(l.q.lasting, redisTimeout)
	defer cancel()
	began := time.Now()
	l.lost.forget(began.Add(-leaseTime - lostLate))
	tokens := l.lost.tokens()
	recovered, err := l.giveBack(ctx, tokens)
	if err != nil {
		l.log.Debug("what Redis handed out without an answer waits for its lease", slog.Any("error", err))
		return
	}
	l.lost.settle(began)
	if recovered > 0 {
		l.log.Info("messages that Redis had handed out, and whose answer was lost, are delivered now", slog.Int64("messages", recovered))
		l.bell.ring()
	}
}

func (l *lane) giveBack(ctx context.Context, tokens []any) (recovered int64, err error) {
	k := &l.keys
	keys := []string{k.pending, k.active, k.lease, k.scheduled, k.bell, k.running, k.parked}
	from, skip := "-inf", int64(0)
	for range lostPortions {
		if from == "" || len(tokens) == 0 {
			break
		}
		args := append([]any{k.task, l.q.cfg.Clock.Now().UnixNano(), l.q.ringing(0), from, skip}, tokens...)
		reply, err := l.q.scripts.lostAnswer.Run(ctx, l.q.redis, keys, args...)
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
		if from, err = replyText(reply[1]); err != nil {
			return recovered, err
		}
		if skip, err = luascript.Int(reply[2]); err != nil {
			return recovered, err
		}
	}
	return recovered, nil
}

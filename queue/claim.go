package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/replicated"
)

const (
	// leaseTime is how long a message stays with a process that is not heard of. The
	// upkeep renews it every upkeepInterval.
	leaseTime = 12 * time.Second
	// claimAtOnce bounds the messages of one script call: enough to make the round trip
	// cheap, few enough to leave work to other replicas.
	claimAtOnce  = 8
	redisTimeout = 3 * time.Second
	// longestAlone is how long the delivery of a wake-up holds up others of its run. They
	// may overlap at any time; that only costs work.
	longestAlone = 10 * time.Minute
	// parkTime is when a wake-up that is held up is looked at again, should nobody have
	// brought it forward.
	parkTime = 30 * time.Second
)

// next returns the next message, as asynq encodes it, and waits for one as long as the
// queue takes messages.
func (l *lane) next() (message string, ok bool) {
	for {
		if l.q.claiming.Err() != nil {
			return "", false
		}
		if ok, retryIn := l.hasSlot(); !ok {
			l.awaitSlot(retryIn)
			continue
		}
		if c := l.fromBuffer(); c != nil {
			return c.message, true
		}
		rung := l.bell.listen()
		if l.quiet != rung {
			left, err := l.claim()
			if err != nil {
				l.q.outage.failed(err)
				if !pause.For(l.q.claiming, l.q.outage.pause()) {
					return "", false
				}
				continue
			}
			l.q.outage.ended()
			if l.lost.news() {
				l.work.Go(l.undoLost)
			}
			if left == 0 {
				l.quiet = rung // all that was there is in the buffer
			}
			continue
		}
		l.waiting.Store(true)
		select {
		case <-rung:
		case <-l.came:
		case <-l.q.claiming.Done():
		}
		l.waiting.Store(false)
	}
}

// claim fills the buffer and returns how many messages are left in Redis.
func (l *lane) claim() (left int64, err error) {
	ctx, cancel := context.WithTimeout(l.q.lasting, redisTimeout)
	defer cancel()
	t := l.newClaimCall()
	reply, err := t.call.Script.Run(ctx, l.q.redis, t.call.Keys, t.call.Args...)
	if err != nil {
		l.lost.add(t)
		return 0, err
	}
	_, left, err = l.claimed(t, reply)
	return left, err
}

// takeCall is one call of claim.lua.
type claimCall struct {
	owner *claimOwner
	asked time.Time
	call  luascript.Call
}

func (l *lane) newClaimCall() claimCall {
	k := &l.keys
	t := claimCall{owner: &claimOwner{name: l.q.nextOwner()}, asked: time.Now()}
	now := l.q.nowMillis()
	t.call = luascript.Call{
		Script: l.q.scripts.claim,
		Keys:   []string{k.pending, k.paused, k.active, k.lease, k.waitingForApp, k.wakes, k.waiting, k.running, k.parked, k.scheduled, k.delayed},
		Args: []any{
			k.task, t.owner, l.room(), leaseTime.Seconds(),
			int64(now), int64(now) - longestAlone.Milliseconds(), score(now + world.Millis(parkTime.Milliseconds())), l.clock.after(redisTimeout),
		},
	}
	return t
}

// claimed reads the reply of claim.lua: how many messages it brought, and how many are left in Redis;
// perhaps none, if it was not in time.
func (l *lane) claimed(t claimCall, reply []any) (brought int, left int64, err error) {
	l.lost.addEarlier(t)
	if len(reply) == 1 {
		l.clock.forget() // the next try is taken as it is
		return 0, 1, nil
	}
	return l.accept(reply, t.owner.answered(), t.asked)
}

// handOver gives next, which waits for just that, what was taken in the round trip that added a message: the message need
// not ring for it, nor wait for another round trip. Should the taking have failed, or brought other messages, next looks again;
// should this process die, the upkeep of another replica finds the message, as when a bell is lost.
func (l *lane) handOver(ctx context.Context, p *Prepared, answers []luascript.Answer) {
	defer l.adding.RUnlock()
	add, claimed, late := answers[0], answers[1], luascript.Late(answers)
	brought, left, err := 0, int64(0), carriedOut(claimed.Err)
	if err == nil {
		brought, left, err = l.claimed(*p.claim, claimed.Reply)
	} else {
		l.lost.add(*p.claim)
	}
	// What was read before the take does not have what a wake-up was about that this one absorbed in between.
	if p.preload != nil && carriedOut(answers[2].Err) == nil && !late && len(add.Reply) > 1 {
		what, seen := p.preload.Read(ctx, answers[2].Reply)
		l.notePreload(add.Reply[1], *p.claim, what, seen)
	}
	if added := carriedOut(add.Err) == nil && len(add.Reply) > 0 && add.Reply[0] == int64(0); added && (brought == 0 || late) || left > 0 || err != nil || l.lost.news() {
		l.bell.ring()
	}
	select {
	case l.came <- struct{}{}:
	default: // next has not seen the one before yet, and looks at all that is there
	}
	// The app waits for the delivery; the answer to queue() is in nobody's way.
	runtime.Gosched()
}

// carriedOut is the error of a script that was not: one that replicas have not confirmed has an answer, by which
// its message is delivered.
func carriedOut(err error) error {
	if replicated.Missing(err) {
		return nil
	}
	return err
}

// awaited reports whether next waits for a message and the caller may claim one for it. Then l.adding is read-locked until
// handOver, which keeps Run from ending meanwhile.
func (l *lane) awaited() bool {
	if !l.waiting.CompareAndSwap(true, false) || !l.adding.TryRLock() {
		return false
	}
	if l.q.claiming.Err() != nil {
		l.adding.RUnlock()
		return false
	}
	return true
}

// room is how many messages to take: no more than there are free slots for.
func (l *lane) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(1, min(claimAtOnce, l.slotsBeside(len(l.claims))))
}

// accept turns the reply of claim.lua into claims.
func (l *lane) accept(reply []any, owner string, asked time.Time) (brought int, left int64, err error) {
	const fixed, each = 2, 7
	if len(reply) < fixed || (len(reply)-fixed)%each != 0 {
		return 0, 0, luascript.ErrShortReply
	}
	if left, err = luascript.Int(reply[0]); err != nil {
		return 0, 0, err
	}
	wakes, err := replyText(reply[1])
	if err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if wakes != l.wakes {
		l.wakes = wakes
		l.q.apps.Changed()
	}
	for i := fixed; i < len(reply); i += each {
		var texts [each]string
		for j := range texts {
			if texts[j], err = replyText(reply[i+j]); err != nil {
				return 0, 0, err
			}
		}
		failed, errFailed := strconv.Atoi(texts[2])
		rescheduled, errRescheduled := strconv.Atoi(texts[3])
		since, errSince := strconv.ParseInt(texts[4], 10, 64)
		hold, errHold := strconv.Atoi(texts[6])
		if err := errors.Join(errFailed, errRescheduled, errSince, errHold); err != nil {
			return 0, 0, fmt.Errorf("counters of message %s: %w", texts[0], err)
		}
		c := &claim{
			id: texts[0], owner: owner, message: texts[1], failed: failed, rescheduled: rescheduled, wakes: wakes, since: time.Unix(0, since),
			held: asked, app: texts[5], holdUntil: time.Now().Add(time.Duration(hold) * time.Millisecond),
		}
		c.ctx, c.cancel = context.WithCancelCause(l.q.delivering) //nolint:fatcontext // one context a claim, none inside another
		l.buffer = append(l.buffer, c)
		l.claims[c] = struct{}{}
	}
	brought = (len(reply) - fixed) / each
	l.backlog.claimed(brought, left)
	return brought, left, nil
}

func (l *lane) fromBuffer() *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buffer) == 0 {
		return nil
	}
	c := l.buffer[0]
	l.buffer = l.buffer[1:]
	l.given[c.id] = c
	return c
}

// received hands the claim of a message to the handler that asynq started for it.
func (l *lane) received(id string) *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.given[id]
	delete(l.given, id)
	return c
}

// drop forgets a claim when its outcome is written.
func (l *lane) drop(c *claim) {
	c.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.claims, c)
	if c.longRunning {
		l.longRunning.count--
		l.longRunning.ended = time.Now()
	}
	l.longRunning.free()
}

// releaseBuffer puts back what was taken and will not be delivered.
func (l *lane) releaseBuffer() {
	l.mu.Lock()
	buffer := l.buffer
	l.buffer = nil
	l.mu.Unlock()
	for i := len(buffer) - 1; i >= 0; i-- { // each goes to the front
		l.finish(buffer[i], outcome{disposition: dispositionReleased, unseen: true, hold: buffer[i].holdLeft()})
	}
	if len(buffer) > 0 {
		l.log.Debug("returned messages that were not delivered yet", slog.Int("messages", len(buffer)))
	}
}

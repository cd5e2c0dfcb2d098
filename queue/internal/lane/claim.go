package lane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/queue/internal/script"
)

const (
	// claimAtOnce bounds the messages of one script call: enough to make the round trip
	// cheap, few enough to leave work to other replicas.
	claimAtOnce = 8
	// longestAlone is how long the delivery of a wake-up delays other wake-ups of its run. They
	// may overlap at any time; that only costs work.
	longestAlone = 10 * time.Minute
	// ParkTime is when a parked wake-up is claimed again if nothing has brought it forward.
	ParkTime = 30 * time.Second
)

// Claim is a message that this process has a lease of.
type Claim struct {
	ID, Owner   string
	Failed      int       // failed deliveries so far
	Rescheduled int       // times the app has rescheduled it
	Since       time.Time // when it became pending
	App         string    // that an earlier delivery was begun with and that perhaps works on it
	Preload     []byte    // what its delivery carries; nil: not known
	PreloadedAt time.Time // when that was read, by the process's own clock
	Seen        world.LogSeen

	message           string    // as asynq encodes it
	registrationsSeen string    // the counter of registrations when it was claimed
	held              time.Time // when the lease was last known to be ours, by the process's own clock
	holdUntil         time.Time // until then App may take to notice the end of that delivery
	target            string    // the app that it is being delivered to; the lane's mutex protects it
	longRunning       bool      // it has given up its slot; the lane's mutex protects it
	ctx               context.Context
	cancel            context.CancelCauseFunc
	sent              atomic.Int64 // how often its outcome was sent to Redis
}

// Context ends when the delivery has to end: at the end of the grace period, or because the lease has lapsed.
func (c *Claim) Context() context.Context { return c.ctx }

// Attempt is the number of the delivery, counted from 1.
func (c *Claim) Attempt() int {
	n := 1 + c.Failed
	if c.Rescheduled > 0 {
		n++
	}
	return n
}

// HoldLeft is how long the delivery still has to wait, by the process's own clock.
func (c *Claim) HoldLeft() time.Duration { return max(0, time.Until(c.holdUntil)) }

// ClaimCall is one call of claim.lua.
type ClaimCall struct {
	luascript.Call
	owner *claimOwner
	asked time.Time
}

func (l *Lane) newClaimCall() *ClaimCall {
	k, now := &l.Keys, l.now()
	c := &ClaimCall{owner: &claimOwner{name: l.cfg.Process.nextOwner()}, asked: time.Now()}
	c.Call = luascript.Call{
		Script: l.cfg.Scripts.Claim,
		Keys:   []string{k.Pending, k.Paused, k.Active, k.Lease, k.WaitingForApp, k.Registrations, k.Waiting, k.Running, k.Parked, k.Scheduled, k.Delayed},
		Args: []any{
			k.Task, c.owner, l.room(), leaseTime.Seconds(),
			int64(now), int64(now) - longestAlone.Milliseconds(), Score(now + world.Millis(ParkTime.Milliseconds())), l.clock.after(RedisTimeout),
		},
	}
	return c
}

// room is how many messages to claim: not more than there are free slots.
func (l *Lane) room() int { return max(1, min(claimAtOnce, l.FreeSlots())) }

// claim fills the buffer and returns how many messages are left in Redis.
func (l *Lane) claim() (left int64, err error) {
	ctx, cancel := context.WithTimeout(l.cfg.Phases.Writing, RedisTimeout)
	defer cancel()
	call := l.newClaimCall()
	reply, err := call.Script.Run(ctx, l.cfg.Redis, call.Keys, call.Args...)
	if err != nil {
		l.lost.add(call)
		return 0, err
	}
	_, left, err = l.claimed(call, reply)
	return left, err
}

// claimed reads the reply of claim.lua: how many messages it brought, and how many are left in Redis.
// It brings none if the call came too late.
func (l *Lane) claimed(call *ClaimCall, reply []any) (brought int, left int64, err error) {
	l.lost.addEarlier(call)
	if len(reply) == 1 {
		l.clock.forget() // the next call has no limit
		return 0, 1, nil
	}
	return l.accept(reply, call.owner.answered(), call.asked)
}

// accept turns the reply of claim.lua into claims.
func (l *Lane) accept(reply []any, owner string, asked time.Time) (brought int, left int64, err error) {
	const fixed, each = 2, 7
	if len(reply) < fixed || (len(reply)-fixed)%each != 0 {
		return 0, 0, luascript.ErrShortReply
	}
	if left, err = luascript.Int(reply[0]); err != nil {
		return 0, 0, err
	}
	registrations, err := script.Text(reply[1])
	if err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if registrations != l.registrationsSeen {
		l.registrationsSeen = registrations
		l.cfg.AppRegistered()
	}
	for i := fixed; i < len(reply); i += each {
		c, err := claimOf(reply[i : i+each])
		if err != nil {
			return 0, 0, err
		}
		c.Owner, c.registrationsSeen, c.held = owner, registrations, asked
		c.ctx, c.cancel = context.WithCancelCause(l.cfg.Phases.Delivering) //nolint:fatcontext // one context per claim, none inside another
		l.buffer = append(l.buffer, c)
		l.claims[c] = struct{}{}
	}
	brought = (len(reply) - fixed) / each
	l.backlog.claimed(brought, left)
	return brought, left, nil
}

// claimOf reads one message of the reply of claim.lua.
func claimOf(fields []any) (*Claim, error) {
	texts := make([]string, len(fields))
	for i, f := range fields {
		var err error
		if texts[i], err = script.Text(f); err != nil {
			return nil, err
		}
	}
	failed, errFailed := strconv.Atoi(texts[2])
	rescheduled, errRescheduled := strconv.Atoi(texts[3])
	since, errSince := strconv.ParseInt(texts[4], 10, 64)
	hold, errHold := strconv.Atoi(texts[6])
	if err := errors.Join(errFailed, errRescheduled, errSince, errHold); err != nil {
		return nil, fmt.Errorf("counters of message %s: %w", texts[0], err)
	}
	return &Claim{
		ID: texts[0], message: texts[1], Failed: failed, Rescheduled: rescheduled, Since: time.Unix(0, since),
		App: texts[5], holdUntil: time.Now().Add(time.Duration(hold) * time.Millisecond),
	}, nil
}

func (l *Lane) fromBuffer() *Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buffer) == 0 {
		return nil
	}
	c := l.buffer[0]
	l.buffer = l.buffer[1:]
	l.given[c.ID] = c
	return c
}

// received returns the claim of a message to the handler that asynq started for it.
func (l *Lane) received(id string) *Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.given[id]
	delete(l.given, id)
	return c
}

// drop forgets a claim whose outcome is written.
func (l *Lane) drop(c *Claim) {
	c.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.claims, c)
	if c.longRunning {
		l.long.count--
		l.long.ended = time.Now()
	}
	l.long.free()
}

// releaseBuffer puts back what was claimed and will not be delivered.
func (l *Lane) releaseBuffer() {
	l.mu.Lock()
	buffer := l.buffer
	l.buffer = nil
	l.mu.Unlock()
	for i := len(buffer) - 1; i >= 0; i-- { // each is put at the front
		l.Finish(buffer[i], Decision{Disposition: Released, Unseen: true, Hold: buffer[i].HoldLeft()})
	}
	if len(buffer) > 0 {
		l.log.Debug("released messages that were not delivered yet", slog.Int("messages", len(buffer)))
	}
}

package lane

import (
	"context"
	"runtime"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/replicated"
)

// Preload reads what the delivery of a wake-up carries, in the round trip that claims the message.
type Preload struct {
	Call luascript.Call
	// Read returns what the reply of the script has for the delivery, nil if nothing, and what it says about the log.
	Read func(ctx context.Context, reply []any) ([]byte, world.LogSeen)
}

// BeginHandOver returns a call that claims a message in the same round trip that adds it, if a worker waits for a message.
// The caller then has to call HandOver; Drain waits for that.
func (l *Lane) BeginHandOver() (*ClaimCall, bool) {
	if !l.waiting.CompareAndSwap(true, false) || !l.adding.TryRLock() {
		return nil, false
	}
	if l.cfg.Phases.Claiming.Err() != nil {
		l.adding.RUnlock()
		return nil, false
	}
	return l.newClaimCall(), true
}

// HandOver gives the waiting worker the message that was claimed in the round trip that added it: the message needs no doorbell and
// no further round trip. The answers are those to the adding, to the claiming, and to the preload if there is one. If the
// claiming failed, or brought other messages, the worker looks again. If this process dies, the upkeep of another
// replica finds the message, as when a bell is lost.
func (l *Lane) HandOver(ctx context.Context, call *ClaimCall, preload *Preload, answers []luascript.Answer) {
	defer l.adding.RUnlock()
	add, claim, late := answers[0], answers[1], luascript.Late(answers)
	brought, left, err := 0, int64(0), carriedOut(claim.Err)
	if err == nil {
		brought, left, err = l.claimed(call, claim.Reply)
	} else {
		l.lost.add(call)
	}
	// What was read before the claim lacks the reason of a wake-up that this one absorbed in between.
	if preload != nil && carriedOut(answers[2].Err) == nil && !late && len(add.Reply) > 1 {
		what, seen := preload.Read(ctx, answers[2].Reply)
		l.notePreload(add.Reply[1], call, what, seen)
	}
	if added := carriedOut(add.Err) == nil && len(add.Reply) > 0 && add.Reply[0] == int64(0); added && (brought == 0 || late) || left > 0 || err != nil || l.lost.untried() {
		l.bell.ring()
	}
	select {
	case l.came <- struct{}{}:
	default: // next has not seen the previous item yet, and then looks at all that is there
	}
	// The app waits for the delivery; nothing waits for the answer to queue().
	runtime.Gosched()
}

// notePreload stores what was read with the claim of a message, unless its delivery has begun. A later
// write to the log enqueues another wake-up, because this message is no longer waiting.
func (l *Lane) notePreload(id any, call *ClaimCall, preload []byte, seen world.LogSeen) {
	if preload == nil {
		preload = []byte{} // known to be nothing, so that nobody reads it again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.buffer {
		if c.ID == id && c.Owner == call.owner.answered() {
			c.Preload, c.PreloadedAt, c.Seen = preload, call.asked, seen
		}
	}
}

// carriedOut is the error of a script that was not carried out. One whose writes replicas have not confirmed was:
// its answer says how the message is delivered.
func carriedOut(err error) error {
	if replicated.Missing(err) {
		return nil
	}
	return err
}

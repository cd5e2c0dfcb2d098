package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redisfault"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/replicated"
)

// Prepared is a message that is ready to be sent, together with what others send. [Queue.Enqueue] does the same by itself.
type Prepared struct {
	Batch   luascript.Batch // what to send
	id      string          // of the message, unless it is there already
	lane    *lane
	due     world.Millis
	claim   *claimCall // the message is taken in the same round trip, for next, which waits for one; nil: it rings the doorbell
	preload *Preload   // what its delivery may bring along is read in the same round trip; nil: it is not
}

// addition is what enqueue.lua is called with beside the message itself.
type addition struct {
	id      string // of the new message
	due     world.Millis
	key     string // of the idempotency hash
	request string
	wait    string // of the hash of waiting wake-ups
	solo    string // run whose deliveries must not overlap
	lead    string // run whose wake-ups wait for this message's delivery
	run     string // whose message it is
}

// Prepare returns a message that is ready to be sent. The caller then sends the Batch and calls Finish, whatever becomes of the
// sending: a worker of this process may wait for the message, and [Queue.Run] does not end before Finish was called.
func (q *Queue) Prepare(ctx context.Context, m world.Message) (*Prepared, error) {
	kind, ok := world.QueueKind(m.QueueName)
	if !ok {
		return nil, world.Errorf(world.CodeInvalid, "queue name %.100q is neither a workflow's nor a step's", m.QueueName)
	}
	if m.Delay < 0 || m.Delay > maxDelay {
		return nil, world.Errorf(world.CodeInvalid, "a delay of %s is not between 0 and 100 years", m.Delay)
	}
	l := q.lane(kind)
	a := q.additionOf(ctx, m, kind)
	preload := l.preloadOf(ctx, m)
	message, err := l.encode(ctx, a.id, m)
	if err != nil {
		return nil, err
	}
	p := &Prepared{id: a.id, lane: l, due: a.due}
	calls := []luascript.Call{q.addCall(l, a, message)}
	if a.due == 0 && l.awaited() {
		// One message at a time goes to next at once, which needs no bell.
		claim := l.newClaimCall()
		calls[0].Args[ringArg] = ""
		calls = append(calls, claim.call)
		p.claim = &claim
		if preload != nil {
			calls = append(calls, preload.Call)
			p.preload = preload
		}
	}
	p.Batch.Calls = calls
	return p, nil
}

// encode returns a message as it lies in Redis.
func (l *lane) encode(ctx context.Context, id string, m world.Message) ([]byte, error) {
	message, err := l.bridge.Encode(ctx, l.kind, id, m)
	switch {
	case err == nil:
		return message, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("enqueue: %w", context.Cause(ctx))
	default:
		return nil, notStored(err)
	}
}

func (q *Queue) additionOf(ctx context.Context, m world.Message, kind world.Kind) *addition {
	a := &addition{id: q.minter.Prefixed("msg_"), request: m.RequestID}
	if m.Delay > 0 {
		// Rounded up: a message must not be early.
		a.due = world.MillisOf(q.cfg.Clock.Now().Add(m.Delay + time.Millisecond - 1))
	}
	if m.IdempotencyKey != "" {
		a.key = rediskey.Part(m.RunID) + ":" + rediskey.Part(m.IdempotencyKey)
	}
	if m.RunID != "" {
		a.run = rediskey.Part(m.RunID)
	}
	q.coalesce(ctx, m, kind, a)
	return a
}

// addCall adds a message, as it lies in Redis.
func (q *Queue) addCall(l *lane, a *addition, message []byte) luascript.Call {
	k := &l.keys
	request, remember := k.request+"-", "0"
	if a.request != "" {
		request, remember = k.request+rediskey.Part(a.request), strconv.FormatInt(requestMemory.Milliseconds(), 10)
	}
	return luascript.Call{
		Script: q.scripts.enqueue,
		Keys:   []string{k.task + a.id, k.pending, k.scheduled, k.idempotency, request, k.bell, k.waiting, k.ofRun + a.run},
		Args:   []any{a.id, message, q.cfg.Clock.Now().UnixNano(), dueScore(a.due), a.key, remember, k.task, q.ringing(a.due), a.wait, a.solo, a.run, a.lead},
	}
}

// Finish returns what Enqueue returns, from the answers to the Batch. ctx is that of the sending.
func (p *Prepared) Finish(ctx context.Context, answers []luascript.Answer) (messageID string, err error) {
	if p.claim != nil {
		p.lane.handOver(ctx, p, answers)
	}
	reply, err := answers[0].Reply, answers[0].Err
	switch {
	case err != nil && !replicated.Missing(err):
		return "", notStored(err)
	case len(reply) < 2:
		return "", notStored(luascript.ErrShortReply)
	}
	id, unreadable := replyText(reply[1])
	if unreadable != nil {
		return "", notStored(unreadable)
	}
	if added := reply[0] == int64(0) || id == p.id; added && p.claim == nil { // an earlier sending may have added it, its answer lost
		p.lane.heard(p.due) // it is there, confirmed or not
	}
	if err != nil {
		return "", world.Wrap(world.CodeUnavailable, err, "the message is stored, but "+redisfault.Sentence(err))
	}
	return id, nil
}

func notStored(err error) error {
	return world.Wrap(world.CodeUnavailable, err, "the message could not be stored: "+redisfault.Sentence(err))
}

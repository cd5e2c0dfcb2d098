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
	"github.com/world-redis/world-redis/queue/internal/lane"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// Prepared is a message that is ready to be sent, together with other calls. [Queue.Enqueue] sends it alone.
type Prepared struct {
	Batch   luascript.Batch // what to send
	id      string          // of the message, unless it was there already
	worker  *worker
	due     world.Millis
	claim   *lane.ClaimCall // claims the message in the same round trip for a worker that waits for one; nil: it rings the doorbell
	preload *Preload        // reads what its delivery may carry in the same round trip; nil: it is not read
}

// addition is what enqueue.lua is called with, except for the message itself.
type addition struct {
	id      string // of the new message
	due     world.Millis
	key     string // of the idempotency hash
	request string
	wait    string // of the hash of waiting wake-ups
	solo    string // run whose deliveries must not overlap
	lead    string // run whose wake-ups wait for this message's delivery
	run     string // that the message belongs to
}

// Prepare returns a message that is ready to be sent. The caller then sends the Batch and calls Finish, even if the
// sending fails: a worker of this process may wait for the message, and [Queue.Run] does not return before Finish was called.
func (q *Queue) Prepare(ctx context.Context, m world.Message) (*Prepared, error) {
	kind, ok := world.QueueKind(m.QueueName)
	if !ok {
		return nil, world.Errorf(world.CodeInvalid, "queue name %.100q is neither a workflow's nor a step's", m.QueueName)
	}
	if m.Delay < 0 || m.Delay > world.MaxDelay {
		return nil, world.Errorf(world.CodeInvalid, "a delay of %s is not between 0 and 100 years", m.Delay)
	}
	w := q.worker(kind)
	a := q.additionOf(ctx, m, kind)
	preload := w.preloadOf(ctx, m)
	message, err := w.encode(ctx, a.id, m)
	if err != nil {
		return nil, err
	}
	p := &Prepared{id: a.id, worker: w, due: a.due}
	calls := []luascript.Call{q.addCall(w, a, message)}
	if a.due == 0 {
		// One message at a time goes straight to a worker, which needs no bell.
		if claim, ok := w.BeginHandOver(); ok {
			calls[0].Args[ringArg] = ""
			calls = append(calls, claim.Call)
			p.claim = claim
			if preload != nil {
				calls = append(calls, preload.Call)
				p.preload = preload
			}
		}
	}
	p.Batch.Calls = calls
	return p, nil
}

// encode returns a message as it lies in Redis.
func (w *worker) encode(ctx context.Context, id string, m world.Message) ([]byte, error) {
	message, err := w.Encode(ctx, id, m)
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
		// Rounded up, because a message must not be early.
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
func (q *Queue) addCall(w *worker, a *addition, message []byte) luascript.Call {
	k := &w.Keys
	request, remember := k.Request+"-", "0"
	if a.request != "" {
		request, remember = k.Request+rediskey.Part(a.request), strconv.FormatInt(requestMemory.Milliseconds(), 10)
	}
	return luascript.Call{
		Script: q.scripts.Enqueue,
		Keys:   []string{k.Task + a.id, k.Pending, k.Scheduled, k.Idempotency, request, k.Bell, k.Waiting, k.OfRun + a.run},
		Args: []any{
			a.id, message, q.cfg.Clock.Now().UnixNano(), lane.DueScore(a.due), a.key, remember, k.Task, q.process.RingText(a.due),
			a.wait, a.solo, a.run, a.lead,
		},
	}
}

// Finish returns what Enqueue returns, from the answers to the Batch. ctx is the one that the Batch was sent with.
func (p *Prepared) Finish(ctx context.Context, answers []luascript.Answer) (messageID string, err error) {
	if p.claim != nil {
		p.worker.HandOver(ctx, p.claim, p.preload, answers)
	}
	reply, err := answers[0].Reply, answers[0].Err
	switch {
	case err != nil && !replicated.Missing(err):
		return "", notStored(err)
	case len(reply) < 2:
		return "", notStored(luascript.ErrShortReply)
	}
	id, unreadable := script.Text(reply[1])
	if unreadable != nil {
		return "", notStored(unreadable)
	}
	added := reply[0] == int64(0) || id == p.id // by an earlier sending, perhaps, whose answer was lost
	if added && p.claim == nil {
		p.worker.Notify(p.due) // it is stored, confirmed or not
	}
	if err != nil {
		return "", world.Wrap(world.CodeUnavailable, err, "the message is stored, but "+redisfault.Sentence(err))
	}
	return id, nil
}

func notStored(err error) error {
	return world.Wrap(world.CodeUnavailable, err, "the message could not be stored: "+redisfault.Sentence(err))
}

package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hibiken/asynq"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redisfault"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/replicated"
)

const (
	// requestMemory is how long a repeated queue() call is recognised; protocol.md
	// promises ten minutes.
	requestMemory = 11 * time.Minute
	// maxDelay keeps moments far from the end of every number they travel in.
	maxDelay = 100 * 366 * 24 * time.Hour
	// forever is a time limit of asynq that no delivery meets: a step may take days.
	forever = 100 * 366 * 24 * time.Hour
)

// addition is what asynq's enqueue call does not carry; it travels in the context.
type addition struct {
	id      string // in: of the new message; out: of the one that stands for it
	due     world.Millis
	key     string // of the idempotency hash
	request string
	wait    string // of the hash of waiting wake-ups
	solo    string // run whose deliveries must not overlap
	lead    string // run whose wake-ups wait for this message's delivery
	run     string // whose message it is
	along   *Along // what its delivery may bring along; nil: nothing
	err     error  // out: why it was not stored, or not confirmed. asynq passes on the text of an error only
}

type additionKey struct{}

// ringArg is the place of the doorbell's text among the arguments of enqueue.lua.
const ringArg = 7

// Enqueue implements world.Queue.
func (q *Queue) Enqueue(ctx context.Context, m world.Message) (string, error) {
	kind, ok := world.QueueKind(m.QueueName)
	if !ok {
		return "", world.Errorf(world.CodeInvalid, "queue name %.100q is neither a workflow's nor a step's", m.QueueName)
	}
	if m.Delay < 0 || m.Delay > maxDelay {
		return "", world.Errorf(world.CodeInvalid, "a delay of %s is not between 0 and 100 years", m.Delay)
	}
	payload, err := encodeEnvelope(m)
	if err != nil {
		return "", world.Wrap(world.CodeInternal, err, "the message cannot be stored")
	}
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
	l := q.lane(kind)
	a.along = l.alongOf(ctx, m)
	_, err = q.client.EnqueueContext(context.WithValue(ctx, additionKey{}, a), asynq.NewTask(string(kind), payload),
		asynq.TaskID(a.id), asynq.Queue(l.name), asynq.MaxRetry(math.MaxInt32), asynq.Timeout(forever))
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("enqueue: %w", context.Cause(ctx))
		case errors.Is(a.err, luascript.ErrFirstFailed):
			return "", world.Errorf(world.CodeConflict, "the message was to follow an event that was refused")
		}
		if replicated.Missing(a.err) {
			return "", world.Wrap(world.CodeUnavailable, err, "the message is stored, but "+redisfault.Sentence(a.err))
		}
		return "", world.Wrap(world.CodeUnavailable, err, "the message could not be stored: "+redisfault.Sentence(err))
	}
	return a.id, nil
}

// add runs in place of asynq's enqueue script: task is the key of the new message,
// args[0] the message as asynq encodes it.
func (q *Queue) add(ctx context.Context, l *lane, task string, args []any) (any, error) {
	a, ok := ctx.Value(additionKey{}).(*addition)
	if !ok || len(args) == 0 {
		return nil, fmt.Errorf("asynq enqueues in an unknown way")
	}
	k := &l.keys
	request, remember := k.request+"-", "0"
	if a.request != "" {
		request, remember = k.request+rediskey.Part(a.request), strconv.FormatInt(requestMemory.Milliseconds(), 10)
	}
	call := luascript.Call{
		Script: q.scripts.enqueue,
		Keys:   []string{task, k.pending, k.scheduled, k.idempotency, request, k.bell, k.waiting, k.ofRun + a.run},
		Args:   []any{a.id, args[0], q.cfg.Clock.Now().UnixNano(), dueScore(a.due), a.key, remember, k.task, q.ringing(a.due), a.wait, a.solo, a.run, a.lead},
	}
	var reply []any
	var err error
	// One message at a time goes to next at once, which needs no bell.
	direct := a.due == 0 && l.awaited()
	if direct {
		call.Args[ringArg] = ""
		reply, err = l.addAndTake(ctx, call, a.along)
	} else {
		replies, errs, _ := q.send.RunInOrder(ctx, call)
		reply, err = replies[0], errs[0]
	}
	a.err = err
	if err != nil && !replicated.Missing(err) {
		return nil, err
	}
	if len(reply) < 2 {
		return nil, luascript.ErrShortReply
	}
	id, unreadable := replyText(reply[1])
	if unreadable != nil {
		return nil, unreadable
	}
	a.id = id
	if reply[0] == int64(0) && !direct {
		l.heard(a.due) // it is there, confirmed or not
	}
	return int64(1), err
}

// dueScore is the score of a moment, or empty for now.
func dueScore(due world.Millis) string {
	if due == 0 {
		return ""
	}
	return score(due)
}

// heard acts on a message that is there now, or will be due at a moment.
func (l *lane) heard(due world.Millis) {
	if due == 0 {
		l.bell.ring()
		return
	}
	l.due.note(due)
}

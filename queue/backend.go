package queue

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// backend is the Redis client that asynq gets. It knows asynq's scripts by the keys they
// are called with, and answers those that touch a message itself:
//
//	enqueue          nothing: what it would add goes to lane.encode
//	dequeue          our script, and waits for a message instead of saying "none"
//	done and so on   nothing: the handler has written the outcome before it returned
//	forward, recover nothing: the upkeep moves due and lapsed messages, to the millisecond
//	reclaim          nothing: we have no groups of messages
//	subscribe        nothing: it would hear of deliveries to cancel, which are not asynq's
//
// All else passes; asynq's list of servers is thinned out.
type backend struct {
	redis.UniversalClient
	queue   *Queue
	reports reports
}

// asynqTimeout bounds what asynq does besides, which would else wait long for a Redis
// that hangs and hold up the renewal of asynq's own leases.
const asynqTimeout = time.Second

// EvalSha implements redis.Scripter.
func (b *backend) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	l, operation := b.recognise(keys)
	switch operation {
	case opEnqueue:
		return result(ctx, int64(1), capture(ctx, args))
	case opDequeue:
		message, ok := l.next()
		if !ok {
			return result(ctx, nil, redis.Nil)
		}
		return result(ctx, message, nil)
	case opFinish:
		return result(ctx, "OK", nil)
	case opForward, opReclaim:
		return result(ctx, int64(0), nil)
	case opListLapsed:
		return result(ctx, []any{}, nil)
	default:
		args, ok := b.reports.thin(keys, args)
		if !ok {
			return result(ctx, "OK", nil)
		}
		ctx, cancel := context.WithTimeout(ctx, asynqTimeout)
		defer cancel()
		return b.UniversalClient.EvalSha(ctx, sha, keys, args...)
	}
}

// Eval implements redis.Scripter: go-redis calls it for a script that Redis does not know.
func (b *backend) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	args, _ = b.reports.thin(keys, args)
	ctx, cancel := context.WithTimeout(ctx, asynqTimeout)
	defer cancel()
	return b.UniversalClient.Eval(ctx, script, keys, args...)
}

// ZAddXX is how asynq renews leases; the upkeep has done so.
func (b *backend) ZAddXX(ctx context.Context, _ string, members ...redis.Z) *redis.IntCmd {
	cmd := redis.NewIntCmd(ctx)
	cmd.SetVal(int64(len(members)))
	return cmd
}

// Subscribe serves asynq's channel of cancellations, which handle does not heed: a connection
// with a keep-alive every 3 s, for each queue. asynq waits for it until the service stops.
func (b *backend) Subscribe(ctx context.Context, _ ...string) *redis.PubSub {
	<-b.queue.taking.Done()
	none := b.UniversalClient.Subscribe(ctx) // to no channel makes no connection
	_ = none.Close()
	return none
}

func result(ctx context.Context, value any, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	if err != nil {
		cmd.SetErr(err)
		return cmd
	}
	cmd.SetVal(value)
	return cmd
}

type operation int

const (
	opOther operation = iota
	opEnqueue
	opDequeue
	opFinish
	opForward
	opListLapsed
	opReclaim
)

// recognise tells an asynq script by its keys. A key it does not expect makes it
// opOther, so that asynq's own script runs; the tests see to it that this never happens.
func (b *backend) recognise(keys []string) (*lane, operation) {
	if len(keys) == 0 {
		return nil, opOther
	}
	l := b.queue.laneOf(keys[0])
	if l == nil {
		return nil, opOther
	}
	k, isTask := &l.keys, func(key string) bool { return strings.HasPrefix(key, l.keys.task) }
	switch len(keys) {
	case 1:
		switch keys[0] {
		case k.lease:
			return l, opListLapsed
		case k.groups:
			return l, opReclaim
		}
	case 2:
		switch {
		case isTask(keys[0]) && keys[1] == k.pending:
			return l, opEnqueue
		case keys[1] == k.pending && (keys[0] == k.scheduled || keys[0] == k.retry):
			return l, opForward
		}
	case 4:
		switch {
		case keys[0] == k.pending && keys[1] == k.paused:
			return l, opDequeue
		case keys[0] == k.active && keys[2] == k.pending: // requeue
			return l, opFinish
		}
	case 5: // done
		if keys[0] == k.active && isTask(keys[2]) {
			return l, opFinish
		}
	case 8, 9: // retry, archive
		if isTask(keys[0]) && keys[1] == k.active {
			return l, opFinish
		}
	}
	return l, opOther
}

package asynqbridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// asynqTimeout bounds what asynq does on Redis itself. A Redis that hangs would otherwise hold up the renewal of asynq's own
// leases.
const asynqTimeout = time.Second

// errUnknownCall is what asynq gets for a call that is not on the list.
var errUnknownCall = errors.New("asynq made a call that the service does not know; nothing was done")

// backend is the Redis client that asynq gets. It answers what asynq does with a message, lets a few calls pass that
// concern asynq's lists of servers and of completed messages, and refuses all others: the client that it embeds is sealed.
type backend struct {
	redis.UniversalClient
	redis   redis.UniversalClient
	keys    Keys
	calls   []call
	reports reports
	worker  Worker            // of Serve
	noted   func(name string) // is called with the name of each known script
	refused refused           // is called with a call that is refused
}

// refused is called with a call that is refused, and with its first key.
type refused func(what, key string)

func newBackend(client redis.UniversalClient, queue string, refused refused) *backend {
	b := &backend{redis: client, keys: KeysOf(queue), calls: knownCalls, noted: func(string) {}, refused: refused}
	b.UniversalClient = sealed(func(cmd redis.Cmder) error { return b.refuse(cmd.Name(), "") })
	return b
}

func (b *backend) refuse(what, key string) error {
	b.refused(what, key)
	return errUnknownCall
}

// EvalSha implements redis.Scripter.
func (b *backend) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	switch b.recognise(sha, keys, args) {
	case opEnqueue:
		return result(ctx, int64(1), capture(ctx, args[0]))
	case opDequeue:
		message, ok := b.worker.Next()
		if !ok {
			return result(ctx, nil, redis.Nil)
		}
		return result(ctx, message, nil)
	case opEnded:
		return result(ctx, "OK", nil)
	case opUpkeep:
		return result(ctx, int64(0), nil)
	case opLapsed:
		return result(ctx, []any{}, nil)
	case opReport:
		if !b.reports.due() {
			return result(ctx, "OK", nil)
		}
		return pass(ctx, b.redis.EvalSha, sha, keys, thin(args))
	case opClean, opSignOff:
		return pass(ctx, b.redis.EvalSha, sha, keys, args)
	default:
		return result(ctx, nil, b.refuseScript(sha, keys, args))
	}
}

// Eval implements redis.Scripter: go-redis calls it for a script that passes and that Redis does not have yet.
func (b *backend) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	sha := redis.NewScript(script).Hash()
	switch b.recognise(sha, keys, args) {
	case opReport:
		return pass(ctx, b.redis.Eval, script, keys, thin(args))
	case opClean, opSignOff:
		return pass(ctx, b.redis.Eval, script, keys, args)
	default:
		return result(ctx, nil, b.refuseScript(sha, keys, args))
	}
}

// pass sends a script to Redis.
func pass(ctx context.Context, send func(context.Context, string, []string, ...any) *redis.Cmd, script string, keys []string, args []any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, asynqTimeout)
	defer cancel()
	return send(ctx, script, keys, args...)
}

func (b *backend) recognise(sha string, keys []string, args []any) operation {
	c := recognise(b.calls, b.keys.prefix, sha, keys, len(args))
	if c == nil {
		return opUnknown
	}
	b.noted(c.name)
	return c.operation
}

func (b *backend) refuseScript(sha string, keys []string, args []any) error {
	key := ""
	if len(keys) > 0 {
		key = keys[0]
	}
	return b.refuse(fmt.Sprintf("script %s with %d keys and %d arguments", sha, len(keys), len(args)), key)
}

// ZAddXX is how asynq renews its leases. The upkeep of the queue has renewed those that count.
func (b *backend) ZAddXX(ctx context.Context, key string, members ...redis.Z) *redis.IntCmd {
	if key != b.keys.Lease {
		return number(ctx, 0, b.refuse("zadd xx", key))
	}
	return number(ctx, len(members), nil)
}

// SAdd puts the queue on asynq's list of queues.
func (b *backend) SAdd(ctx context.Context, key string, members ...any) *redis.IntCmd {
	if key != listOfQueues {
		return number(ctx, 0, b.refuse("sadd", key))
	}
	return b.redis.SAdd(ctx, key, members...)
}

// ZAdd serves asynq's lists of servers and workers, which a report begins with.
func (b *backend) ZAdd(ctx context.Context, key string, members ...redis.Z) *redis.IntCmd {
	if key != listOfServers && key != listOfWorkers {
		return number(ctx, 0, b.refuse("zadd", key))
	}
	if !b.reports.due() {
		return number(ctx, 0, nil)
	}
	until := time.Now().Add(reportKept)
	for i := range members {
		members[i].Score = float64(until.Unix())
	}
	ctx, cancel := context.WithTimeout(ctx, asynqTimeout)
	defer cancel()
	if key == listOfServers {
		if err := b.announce(ctx, members, until); err != nil {
			return number(ctx, 0, err)
		}
	}
	return b.redis.ZAdd(ctx, key, members...)
}

// ZRem takes a server off asynq's lists when it stops.
func (b *backend) ZRem(ctx context.Context, key string, members ...any) *redis.IntCmd {
	if key != listOfServers && key != listOfWorkers {
		return number(ctx, 0, b.refuse("zrem", key))
	}
	return b.redis.ZRem(ctx, key, members...)
}

// Subscribe serves asynq's channel of cancellations, which no delivery obeys: it would be a connection with a keep-alive
// every 3 s, for each queue. asynq waits for it until the service stops.
func (b *backend) Subscribe(ctx context.Context, _ ...string) *redis.PubSub {
	<-b.worker.Ending
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

func number(ctx context.Context, n int, err error) *redis.IntCmd {
	cmd := redis.NewIntCmd(ctx)
	cmd.SetVal(int64(n))
	if err != nil {
		cmd.SetErr(err)
	}
	return cmd
}

package storage

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// sender runs event scripts. One call by itself takes the straight way; calls that are made at
// the same time travel together, which costs Redis and this process a fraction of what the same
// scripts cost one by one. All of them stay calls of their own: each has its own answer, and a
// connection that breaks makes go-redis send them again, which every script bears.
type sender struct {
	redis redis.UniversalClient
	pipe  *redis.AutoPipeliner // nil: the client has none
	open  atomic.Int64         // calls under way
}

func newSender(client redis.UniversalClient) (*sender, error) {
	s := &sender{redis: client}
	if able, ok := client.(interface {
		AsyncAutoPipeline() (*redis.AutoPipeliner, error)
	}); ok {
		pipe, err := able.AsyncAutoPipeline()
		if err != nil {
			return nil, err
		}
		s.pipe = pipe // ends with the client
	}
	return s, nil
}

// run runs a script with other commands, if there are any, before it. They are sent in this
// order; on a cluster only those of one node are also carried out in it.
func (s *sender) run(ctx context.Context, front func(redis.Pipeliner), script script, keys []string, args []any) (reply, error) {
	alone := s.open.Add(1) == 1
	defer s.open.Add(-1)
	if alone || s.pipe == nil {
		if front == nil {
			return script.Run(ctx, s.redis, keys, args...)
		}
		return s.runPipelined(ctx, front, script, keys, args)
	}
	together := s.redis.Pipeline()
	if front != nil {
		front(together)
	}
	cmd := script.queue(ctx, together, keys, args...)
	if err := s.submit(ctx, together); err != nil && (ctx.Err() != nil || !scriptLost(cmd.Err())) {
		return nil, fail(err)
	}
	return s.result(ctx, cmd, script, keys, args)
}

// commands sends commands in their order, in one round trip when none of a cluster's nodes keeps others waiting.
func (s *sender) commands(ctx context.Context, fill func(redis.Pipeliner)) error {
	alone := s.open.Add(1) == 1
	defer s.open.Add(-1)
	if alone || s.pipe == nil {
		_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error { fill(p); return nil })
		return fail(err)
	}
	together := s.redis.Pipeline()
	fill(together)
	return fail(s.submit(ctx, together))
}

// submit sends what a pipeline has collected, which is never executed itself, and waits for all
// of it. The error is the first command's that has one.
func (s *sender) submit(ctx context.Context, collected redis.Pipeliner) error {
	cmds := collected.Cmds()
	futures := make([]redis.AutoFuture, len(cmds))
	for i, one := range cmds {
		futures[i] = s.pipe.Submit(ctx, one)
	}
	var first error
	for _, future := range futures {
		if err := future.WaitContext(ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *sender) runPipelined(ctx context.Context, front func(redis.Pipeliner), script script, keys []string, args []any) (reply, error) {
	var cmd *redis.Cmd
	cmds, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		front(p)
		cmd = script.queue(ctx, p, keys, args...)
		return nil
	})
	if err != nil && !scriptLost(cmd.Err()) {
		for _, other := range cmds {
			if other.Err() != nil {
				return nil, fail(other.Err())
			}
		}
		return nil, fail(err)
	}
	return s.result(ctx, cmd, script, keys, args)
}

// result reads the reply of a queued script; one that the server did not know is run again with its text.
func (s *sender) result(ctx context.Context, cmd *redis.Cmd, script script, keys []string, args []any) (reply, error) {
	r, err := cmd.Slice()
	if scriptLost(err) {
		r, err = script.Run(ctx, s.redis, keys, args...)
	}
	return r, fail(err)
}

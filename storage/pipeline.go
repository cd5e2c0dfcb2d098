package storage

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// applyWith is apply with other commands before the script, in the same round trip. They are for keys of other hash slots. On a
// cluster a pipeline keeps no order between nodes, so there ordered commands are sent first, by themselves.
func (s *Store) applyWith(ctx context.Context, c *call, ordered bool, front func(redis.Pipeliner), script script,
	keys []string, args ...any,
) (scriptOutcome, error) {
	if ordered && s.clustered {
		if _, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error { front(p); return nil }); err != nil {
			return scriptOutcome{}, fail(err)
		}
		return s.apply(ctx, c, script, keys, args...)
	}
	return s.applyAfter(ctx, c, front, script, keys, args...)
}

// scriptInput is one call of a script among many.
type scriptInput struct {
	keys []string
	args []any
}

// runMany runs a script for each input, in one round trip a server, and returns the replies
// in their order.
func (s *Store) runMany(ctx context.Context, script script, inputs []scriptInput) ([]record.Reply, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	cmds, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, in := range inputs {
			script.Queue(ctx, p, in.keys, in.args...)
		}
		return nil
	})
	if err != nil && !luascript.Lost(err) {
		return nil, fail(err)
	}
	out := make([]record.Reply, len(inputs))
	for i, cmd := range cmds {
		r, err := cmd.(*redis.Cmd).Slice()
		if luascript.Lost(err) {
			r, err = script.Run(ctx, s.redis, inputs[i].keys, inputs[i].args...)
		}
		if err != nil {
			return nil, fail(err)
		}
		out[i] = r
	}
	return out, nil
}

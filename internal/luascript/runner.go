package luascript

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/replicated"
)

// Runner runs short scripts. Calls that are under way at the same time travel together, which costs
// Redis and this process a fraction of what the same scripts cost one by one. All of them stay
// calls of their own: each has its own answer, and a connection that breaks makes go-redis send
// them again, which every script bears.
//
// A call with a large argument goes by itself, and one with a deadline, which go-redis keeps to for a
// command of its own only. A long answer makes those wait that come after it on the way: scripts
// that read pages are not for a Runner.
type Runner struct {
	redis  redis.UniversalClient
	shared *rounds
	// confirmed is for the calls that wait for replicas: the others are not to wait with them.
	confirmed *rounds
}

// NewRunner returns a Runner on a client.
func NewRunner(client redis.UniversalClient) *Runner {
	return &Runner{
		redis:     client,
		shared:    &rounds{redis: client, most: roundsUnderWay},
		confirmed: &rounds{redis: client, most: confirmedUnderWay},
	}
}

// NewSeparateRunner returns a Runner for which no call travels together with those of other callers.
func NewSeparateRunner(client redis.UniversalClient) *Runner {
	return &Runner{redis: client, shared: &rounds{redis: client}, confirmed: &rounds{redis: client}}
}

// RunnerFor returns a separate Runner or one whose calls share pipelines.
func RunnerFor(client redis.UniversalClient, separate bool) *Runner {
	if separate {
		return NewSeparateRunner(client)
	}
	return NewRunner(client)
}

// Run runs a script.
func (r *Runner) Run(ctx context.Context, s *Script, keys []string, args ...any) ([]any, error) {
	return r.RunAfter(ctx, nil, s, keys, args...)
}

// RunAfter runs a script with other commands, if front is not nil, before it. They are sent in
// this order; on a cluster only those of one node are also carried out in it.
func (r *Runner) RunAfter(ctx context.Context, front func(redis.Pipeliner), s *Script, keys []string, args ...any) ([]any, error) {
	alone := isLarge(args) || hasDeadline(ctx)
	if front == nil {
		ctx = s.during(ctx)
	}
	if front == nil && alone {
		return s.Run(ctx, r.redis, keys, args...)
	}
	var cmd *redis.Cmd
	var err error
	if front == nil {
		cmd = s.command(ctx, keys, args)
		if err = r.rounds(ctx).send(ctx, cmd); err == nil {
			err = cmd.Err()
		}
	} else {
		commands := r.redis.Pipeline()
		front(commands)
		cmd = s.Queue(ctx, commands, keys, args...)
		err = r.send(ctx, alone, commands)
	}
	if err != nil && (ctx.Err() != nil || !Lost(err) || !Lost(cmd.Err())) {
		var reply []any
		if replicated.Missing(err) { // with any other error the command may be under way still
			reply = answerOf(cmd)
		}
		return reply, fmt.Errorf("script %s: %w", s.Name, err)
	}
	reply, _, err := r.replyOf(ctx, cmd, Call{Script: s, Keys: keys, Args: args})
	return reply, err
}

// rounds are the pipelines that a call travels in.
func (r *Runner) rounds(ctx context.Context) *rounds {
	if replicated.IsWanted(ctx) {
		return r.confirmed
	}
	return r.shared
}

// replyOf returns the answer to a script that was sent. One that the server had forgotten is run only now: then again is
// true. With an error that is [replicated.Missing] comes the answer, too.
func (r *Runner) replyOf(ctx context.Context, cmd *redis.Cmd, c Call) (reply []any, again bool, err error) {
	switch reply, err = cmd.Slice(); {
	case Lost(err):
		reply, err = c.Script.Run(ctx, r.redis, c.Keys, c.Args...)
		return reply, true, err
	case err != nil:
		return answerOf(cmd), false, fmt.Errorf("script %s: %w", c.Script.Name, err)
	default:
		return reply, false, nil
	}
}

// large is the size of an argument, in bytes, from which on others should not have to wait for it.
const large = 64 << 10

func hasDeadline(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return ok
}

func isLarge(args []any) bool {
	for _, arg := range args {
		switch a := arg.(type) {
		case string:
			if len(a) >= large {
				return true
			}
		case []byte:
			if len(a) >= large {
				return true
			}
		}
	}
	return false
}

// Commands sends commands in their order, as [Runner.RunAfter] does those before a script.
func (r *Runner) Commands(ctx context.Context, fill func(redis.Pipeliner)) error {
	commands := r.redis.Pipeline()
	fill(commands)
	return r.send(ctx, hasDeadline(ctx), commands)
}

// send sends what a pipeline has collected, by itself or together with what others send, and
// waits for all of it. The error is that of the first command that has one.
func (r *Runner) send(ctx context.Context, alone bool, collected redis.Pipeliner) error {
	if alone {
		_, err := collected.Exec(ctx)
		return err
	}
	cmds := collected.Cmds() // the pipeline itself is never executed
	if err := r.rounds(ctx).send(ctx, cmds...); err != nil {
		return err
	}
	return firstError(cmds)
}

func firstError(cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			return err
		}
	}
	return nil
}

// command is what Queue puts into a pipeline.
func (s *Script) command(ctx context.Context, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.redis.Hash(), len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	if len(keys) > 0 {
		cmd.SetFirstKeyPos(3)
	}
	return cmd
}

// Queue puts the script into a pipeline by its hash. A server that lost its scripts refuses it
// there (see [Lost]); then it was not run.
func (s *Script) Queue(ctx context.Context, p redis.Pipeliner, keys []string, args ...any) *redis.Cmd {
	return p.EvalSha(ctx, s.redis.Hash(), keys, args...)
}

// Lost reports whether a queued script was refused because the server does not have it.
func Lost(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

package luascript

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/replicated"
)

// Runner runs short scripts. Concurrent calls share a pipeline, which costs Redis and this process a fraction of
// separate calls. They stay independent: each has its own answer, and if a connection breaks, go-redis sends them
// again, so every script must be safe to repeat.
//
// A call with a large argument is sent separately, and so is one with a deadline, because go-redis keeps a deadline
// only for a separate command. A long answer delays those after it in the pipeline, so scripts that read pages do not
// use a Runner.
type Runner struct {
	redis  redis.UniversalClient
	shared *rounds
	// confirmed is for calls that wait for replicas, so that the others do not wait with them.
	confirmed *rounds
}

// NewRunner returns a Runner for a client.
func NewRunner(client redis.UniversalClient) *Runner {
	return &Runner{
		redis:     client,
		shared:    &rounds{redis: client, most: roundsUnderWay},
		confirmed: &rounds{redis: client, most: confirmedUnderWay},
	}
}

// NewSeparateRunner returns a Runner whose calls never share a pipeline with other callers.
func NewSeparateRunner(client redis.UniversalClient) *Runner {
	return &Runner{redis: client, shared: &rounds{redis: client}, confirmed: &rounds{redis: client}}
}

// RunnerFor returns a Runner whose calls are separate or share pipelines.
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

// RunAfter runs a script after other commands, if front is not nil. They are sent in this order; on a cluster only
// the commands of one node also run in it.
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
		if replicated.Missing(err) { // with any other error the command may still be in progress
			reply = answerOf(cmd)
		}
		return reply, fmt.Errorf("script %s: %w", s.Name, err)
	}
	reply, _, err := r.replyOf(ctx, cmd, Call{Script: s, Keys: keys, Args: args})
	return reply, err
}

// rounds returns the pipelines for a call.
func (r *Runner) rounds(ctx context.Context) *rounds {
	if replicated.IsWanted(ctx) {
		return r.confirmed
	}
	return r.shared
}

// replyOf returns the answer to a sent script. If the server had forgotten the script, it runs only now, and again is
// true. If the error is [replicated.Missing], the answer is returned, too.
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

// large is the size of an argument, in bytes, from which a call is sent separately, so that others need not wait for
// it.
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

// Commands sends commands in order, like the front commands of [Runner.RunAfter].
func (r *Runner) Commands(ctx context.Context, fill func(redis.Pipeliner)) error {
	commands := r.redis.Pipeline()
	fill(commands)
	return r.send(ctx, hasDeadline(ctx), commands)
}

// send sends the commands collected in a pipeline, separately or together with other callers', and waits for all of
// them. It returns the first error of a command.
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

// command returns the command that Queue adds to a pipeline.
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

// Queue adds the script to a pipeline by its hash. A server that lost its scripts refuses it (see [Lost]), and it has
// not run then.
func (s *Script) Queue(ctx context.Context, p redis.Pipeliner, keys []string, args ...any) *redis.Cmd {
	return p.EvalSha(ctx, s.redis.Hash(), keys, args...)
}

// Lost reports whether a queued script was refused because the server does not have it.
func Lost(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

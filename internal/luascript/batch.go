package luascript

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/replicated"
)

// Call is one execution of a script.
type Call struct {
	Script *Script
	Keys   []string
	Args   []any
}

// Batch is what one call sends: scripts in order, and other commands before them if Front is not nil. If a front
// command fails, its error is the error of the scripts after it.
type Batch struct {
	Front func(redis.Pipeliner)
	Calls []Call
}

// Answer is the result of one script of a batch. If the error is [replicated.Missing] and no command before it
// failed, the reply is set, too.
type Answer struct {
	Reply []any
	Err   error
	again bool // the server had forgotten the script, so it was run again separately
}

// RunInOrder sends batches in one round trip and returns the answers to each. Their scripts run in this order, each
// whatever the result of those before it; [Late] reports an exception. Batches of two independent stores can be sent
// together. On a cluster, the keys of all scripts must be on one node.
func (r *Runner) RunInOrder(ctx context.Context, batches ...Batch) [][]Answer {
	if !slices.ContainsFunc(batches, Batch.writes) {
		ctx = replicated.NotWanted(ctx)
	}
	alone := hasDeadline(ctx)
	commands := r.redis.Pipeline()
	sent := make([]sentBatch, len(batches))
	for i, b := range batches {
		sent[i] = b.queue(ctx, commands)
		alone = alone || slices.ContainsFunc(b.Calls, func(c Call) bool { return isLarge(c.Args) })
	}
	err := r.send(ctx, alone, commands)
	givenUp := err != nil && ctx.Err() != nil // they may still be in progress then
	answers := make([][]Answer, len(batches))
	for i, b := range sent {
		if givenUp {
			answers[i] = b.failed(err)
		} else {
			answers[i] = r.answersTo(ctx, b)
		}
	}
	return answers
}

// sentBatch is a batch with its queued commands.
type sentBatch struct {
	Batch
	front   []redis.Cmder
	scripts []*redis.Cmd // one per call
}

func (b Batch) writes() bool {
	return b.Front != nil || slices.ContainsFunc(b.Calls, func(c Call) bool { return !c.Script.Reads })
}

func (b Batch) queue(ctx context.Context, commands redis.Pipeliner) sentBatch {
	s := sentBatch{Batch: b, scripts: make([]*redis.Cmd, len(b.Calls))}
	if b.Front != nil {
		before := commands.Len()
		b.Front(commands)
		s.front = commands.Cmds()[before:]
	}
	for i, c := range b.Calls {
		s.scripts[i] = c.Script.Queue(ctx, commands, c.Keys, c.Args...)
	}
	return s
}

// failed returns the same error for each script.
func (b sentBatch) failed(err error) []Answer {
	answers := make([]Answer, len(b.Calls))
	for i, c := range b.Calls {
		answers[i].Err = fmt.Errorf("script %s: %w", c.Script.Name, err)
	}
	return answers
}

// answersTo returns the answers to a batch.
func (r *Runner) answersTo(ctx context.Context, b sentBatch) []Answer {
	if err := firstError(b.front); err != nil {
		return b.failed(err)
	}
	answers := make([]Answer, len(b.Calls))
	for i, c := range b.Calls {
		a := &answers[i]
		a.Reply, a.again, a.Err = r.replyOf(ctx, b.scripts[i], c)
	}
	return answers
}

// Late reports whether a script of batches sent in this order ran after one behind it, because the server had
// forgotten the one and not the other.
func Late(batches ...[]Answer) bool {
	again := false
	for _, answers := range batches {
		for _, a := range answers {
			if again && !a.again {
				return true
			}
			again = again || a.again
		}
	}
	return false
}

package luascript

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/replicated"
)

// Call is one run of a script.
type Call struct {
	Script *Script
	Keys   []string
	Args   []any
}

// Batch is what one call sends: scripts in their order, with other commands before them, if Front is not nil. A front
// command that fails is the error of the scripts behind it.
type Batch struct {
	Front func(redis.Pipeliner)
	Calls []Call
}

// Answer is what became of one script of a batch. With an error that is [replicated.Missing] comes the reply, too, where no
// command before it failed.
type Answer struct {
	Reply []any
	Err   error
	again bool // the server had forgotten it, so it was run once more, by itself
}

// RunInOrder sends batches in one round trip and returns the answers to each. Their scripts are carried out in this order,
// each whatever becomes of those before it; [Late] reports the exception. Two stores that know nothing of each other may each
// have a batch here. On a cluster the keys of all scripts must be of one node.
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
	givenUp := err != nil && ctx.Err() != nil // then they may be on their way still
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

// sentBatch is a batch with the commands that have been queued for it.
type sentBatch struct {
	Batch
	front   []redis.Cmder
	scripts []*redis.Cmd // one a call
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

// failed has the same error for each script.
func (b sentBatch) failed(err error) []Answer {
	answers := make([]Answer, len(b.Calls))
	for i, c := range b.Calls {
		answers[i].Err = fmt.Errorf("script %s: %w", c.Script.Name, err)
	}
	return answers
}

// answersTo reads what a batch was answered.
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

// Late reports whether a script of batches that were sent in this order was carried out after one behind it: the server had
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

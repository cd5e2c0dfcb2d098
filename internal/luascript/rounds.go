package luascript

import (
	"context"
	"runtime"
	"sync"

	"github.com/redis/go-redis/v9"
)

const (
	// roundsUnderWay is the most pipelines in progress. Commands that arrive meanwhile go into the next one. With
	// only one, Redis would wait while this process reads its answers; with more, each would be shorter.
	roundsUnderWay = 2
	// confirmedUnderWay is the same for pipelines that wait for replicas; meanwhile Redis has no work with them.
	confirmedUnderWay = 4
	// fullRound is the size, in bytes, from which a pipeline accepts no more: it must be written within the
	// connection's write timeout.
	fullRound = 256 << 10
)

// rounds sends the commands of concurrent callers in shared pipelines. It needs no timer and no goroutine: the first
// caller of a pipeline lets other runnable callers join, and then sends for all of them.
type rounds struct {
	redis redis.UniversalClient
	most  int // most pipelines in progress; 0 gives every caller its own

	mu       sync.Mutex
	open     *round   // accepts commands; nil: the next caller begins one
	waiting  []*round // rounds that wait for one in progress to end
	underWay int
}

// round is one pipeline.
type round struct {
	cmds  []redis.Cmder
	bytes int
	done  chan struct{} // closed when every command has its answer or its error
}

// send sends the commands in order and adjacent to each other, and waits for all of them. Each then has its answer or
// its error, unless the context ended first; they may still be in progress then.
func (r *rounds) send(ctx context.Context, cmds ...redis.Cmder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.most == 0 {
		r.execute(ctx, cmds)
		return nil
	}
	mine, leads := r.join(cmds)
	if leads {
		runtime.Gosched() // other calls of the same bundle are about to join
		// Others depend on this caller's send, so it cannot be cancelled.
		r.carryOut(context.WithoutCancel(ctx), mine)
		return nil
	}
	select {
	case <-mine.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join adds commands to the open round. leads is true if the caller has to send it.
func (r *rounds) join(cmds []redis.Cmder) (mine *round, leads bool) {
	size := 0
	for _, cmd := range cmds {
		size += sizeOf(cmd.Args())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil || r.open.bytes+size > fullRound {
		r.open = &round{done: make(chan struct{})}
		if leads = r.underWay < r.most; leads {
			r.underWay++
		} else {
			r.waiting = append(r.waiting, r.open)
		}
	}
	r.open.cmds = append(r.open.cmds, cmds...)
	r.open.bytes += size
	return r.open, leads
}

// carryOut sends a round, and then lets the round go that has waited longest.
func (r *rounds) carryOut(ctx context.Context, now *round) {
	r.mu.Lock()
	if r.open == now {
		r.open = nil
	}
	r.mu.Unlock()
	defer func() {
		close(now.done)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.waiting) == 0 {
			r.underWay--
			return
		}
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		go r.carryOut(ctx, next)
	}()
	r.execute(ctx, now.cmds)
}

// execute sends commands in one pipeline.
func (r *rounds) execute(ctx context.Context, cmds []redis.Cmder) {
	pipe := r.redis.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...) // only queues them
	_, _ = pipe.Exec(ctx)               // each has its own error
}

func sizeOf(args []any) int {
	size := 0
	for _, arg := range args {
		switch a := arg.(type) {
		case string:
			size += len(a)
		case []byte:
			size += len(a)
		}
	}
	return size
}

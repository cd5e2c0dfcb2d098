package luascript

import (
	"context"
	"runtime"
	"sync"

	"github.com/redis/go-redis/v9"
)

const (
	// roundsUnderWay is how many pipelines are on their way at most. What comes meanwhile travels in the
	// next: one alone would have Redis wait while this process reads its answers, more would each be shorter.
	roundsUnderWay = 2
	// confirmedUnderWay is the same for pipelines that wait for replicas, in which time Redis has nothing of them to do.
	confirmedUnderWay = 4
	// fullRound is the size, in bytes, from which on a pipeline takes no more: a long one must get through
	// within the time that a connection has for a write.
	fullRound = 256 << 10
)

// rounds sends the commands of callers that are under way at the same time in common pipelines. There
// is no timer and no goroutine for it: the first caller of a pipeline lets those go before it that can,
// and then sends for all of them.
type rounds struct {
	redis redis.UniversalClient
	most  int // pipelines under way; 0: every caller has one of its own

	mu       sync.Mutex
	open     *round   // takes commands; nil: the next caller begins one
	waiting  []*round // for one that is under way to be done
	underWay int
}

// round is one pipeline.
type round struct {
	cmds  []redis.Cmder
	bytes int
	done  chan struct{} // closed when every command has its answer or its error
}

// send sends the commands, in their order and next to each other, and waits for all of them. Each holds
// its answer or its error then, unless the context has ended before; then they may still be carried out.
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
		runtime.Gosched() // other calls of the same bundle are about to come
		// What this caller sends is for others, too, so it cannot give up on the way.
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

// join puts commands into the round that is open. leads says that the caller has to carry it out.
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

// carryOut sends a round, and then has the one go that has waited longest.
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

package luascript

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Pair has two calls travel to Redis together that are to be carried out one after the other, by stores that know
// nothing of each other: what the first one sends stands right before what the second one sends, in one pipeline on
// one connection, which is one round trip instead of two. The second one is carried out whatever becomes of the first
// there; see [Pair.InTime].
//
// Both calls are made at the same time, each with the context of its own that the Pair has for it. Where one of them
// does not go this way, because it is large or has nothing to send, the second waits for the end of the first. A
// Pair is not for a cluster, which splits pipelines.
type Pair struct {
	first, second context.Context

	offers      chan []redis.Cmder // of the first, taken by the second, which sends them
	sent        chan struct{}      // closed when they have their answers
	firstEnded  chan struct{}
	secondGone  chan struct{} // closed when the second takes no offer any more
	goOnce      sync.Once
	firstFailed bool        // written before firstEnded is closed
	together    atomic.Bool // they were sent in one pipeline
	applied     atomic.Bool // by the script that was sent so
	offered     bool        // of the first's goroutine, and
	joined      bool        // whether its last script was sent so, and in time
}

// ErrFirstFailed is what the second of a pair gets when the first has failed before it sent anything.
var ErrFirstFailed = errors.New("what it was to follow has not been done")

type seatKey struct{}

// seat is the place of a call in its pair.
type seat struct {
	pair   *Pair
	second bool
}

// NewPair returns a Pair whose contexts come from ctx.
func NewPair(ctx context.Context) *Pair {
	p := &Pair{
		offers: make(chan []redis.Cmder), sent: make(chan struct{}),
		firstEnded: make(chan struct{}), secondGone: make(chan struct{}),
	}
	p.first = context.WithValue(ctx, seatKey{}, seat{pair: p})
	p.second = context.WithValue(ctx, seatKey{}, seat{pair: p, second: true})
	return p
}

// First is the context of the call that comes first.
func (p *Pair) First() context.Context { return p.first }

// Second is the context of the one that comes after it.
func (p *Pair) Second() context.Context { return p.second }

// FirstEnded is to be called once the first call has ended, well or not.
func (p *Pair) FirstEnded(well bool) {
	p.firstFailed = !well
	close(p.firstEnded)
}

// SecondEnded is to be called once the second call has ended.
func (p *Pair) SecondEnded() { p.goOnce.Do(func() { close(p.secondGone) }) }

// InTime reports, once both have ended and the first has ended well, whether what that did had been done when the
// second was carried out. It was not when Redis had forgotten its script, or when it took another try. Then the second is to be
// made once more.
func (p *Pair) InTime() bool { return !p.together.Load() || p.applied.Load() }

// Applied says that the script that [Runner.RunFirst] has run last did what it is for.
func Applied(ctx context.Context) {
	if p := pairOf(ctx, false); p != nil && p.joined {
		p.applied.Store(true)
	}
}

// pairOf returns the pair in which a context has that place, or nil.
func pairOf(ctx context.Context, second bool) *Pair {
	if s, ok := ctx.Value(seatKey{}).(seat); ok && s.second == second {
		return s.pair
	}
	return nil
}

// offer hands over what the first sends and waits until it has its answers. False: the second does not take it.
func (p *Pair) offer(ctx context.Context, cmds []redis.Cmder) (bool, error) {
	if p.offered {
		return false, nil
	}
	p.offered = true
	select {
	case p.offers <- cmds:
		<-p.sent
		return true, nil
	case <-p.secondGone:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// accept returns what the second is to send before its own; nothing: the first has ended well.
func (p *Pair) accept(ctx context.Context, large bool) ([]redis.Cmder, error) {
	offers := p.offers
	if large {
		p.SecondEnded()
		offers = nil
	}
	select {
	case front := <-offers:
		p.together.Store(true)
		return front, nil
	case <-p.firstEnded:
		if p.firstFailed {
			return nil, ErrFirstFailed
		}
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

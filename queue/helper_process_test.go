package queue_test

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// process is an app whose process ends during some deliveries, with all the others that it has. It is started again
// once the replicas have written the outcomes of all those deliveries: a replica that looks later would find it
// running, and take the crash for a broken connection.
type process struct {
	mu     sync.Mutex
	ended  chan struct{} // closed when it ends
	up     bool
	hidden bool // something in front of it accepts connections all the same
	inHand map[*world.Delivery]struct{}
	lost   map[*world.Delivery]struct{} // deliveries that it ended with and whose replicas are not done with them
	ends   int
	begun  map[string]int // deliveries, by run
	// does is what the app does with a delivery.
	does func(ctx context.Context, p *process, d world.Delivery) world.Outcome
	// Of the replicas in front of it: how long a suspect is alone, and the first wait after the fifth crash.
	alone, crashFirst time.Duration
}

var broken = world.Outcome{Verdict: world.Unreachable, Sent: true, Reason: "EOF"}

func newProcess(does func(ctx context.Context, p *process, d world.Delivery) world.Outcome) *process {
	return &process{
		ended: make(chan struct{}), up: true, inHand: map[*world.Delivery]struct{}{}, begun: map[string]int{}, does: does,
		alone: patience, crashFirst: time.Millisecond,
	}
}

// kill ends the process.
func (p *process) kill() world.Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up {
		p.up = false
		p.ends++
		p.lost = maps.Clone(p.inHand)
		close(p.ended)
	}
	return broken
}

// lasts is a delivery of this duration, unless the process ends.
func (p *process) lasts(ctx context.Context, d time.Duration) world.Outcome {
	p.mu.Lock()
	ended, up := p.ended, p.up
	p.mu.Unlock()
	if !up {
		return broken
	}
	select {
	case <-time.After(d):
		return world.Outcome{Verdict: world.Done}
	case <-ended:
		return broken
	case <-ctx.Done():
		return broken
	}
}

// written is called when a replica has written the outcome of a delivery.
func (p *process) written(d *world.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lost, d)
	if len(p.lost) == 0 && !p.up {
		p.up, p.ended = true, make(chan struct{})
	}
}

func (p *process) count() (ends int, begun map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	begun = map[string]int{}
	for runID, n := range p.begun {
		begun[runID] = n
	}
	return p.ends, begun
}

func (p *process) Deliver(ctx context.Context, d world.Delivery) world.Outcome {
	p.mu.Lock()
	if !p.up {
		p.mu.Unlock()
		return unreachable
	}
	context.AfterFunc(ctx, func() { p.written(&d) }) // a delivery's context ends when its outcome is written
	p.begun[d.RunID]++
	p.inHand[&d] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.inHand, &d)
	}()
	return p.does(ctx, p, d)
}

func (p *process) Gone(context.Context, string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.up && !p.hidden
}

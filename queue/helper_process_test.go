package queue_test

import (
	"context"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// process is an app whose process ends with some deliveries, and with all that it has in hand. It is started
// again as soon as every replica that it broke off with has noticed that nobody listens.
type process struct {
	mu     sync.Mutex
	ended  chan struct{} // closed when it ends
	up     bool
	hidden bool // something in front of it accepts connections all the same
	inHand map[*entry]struct{}
	unseen map[int]bool // replicas that have yet to notice
	ends   int
	begun  map[string]int // deliveries, by run
	// does is what the app does with a delivery.
	does func(ctx context.Context, p *process, d world.Delivery) world.Outcome
	// Of the replicas in front of it: how long a suspect is alone, and the first wait after the fifth crash.
	alone, crashFirst time.Duration
}

type entry struct {
	replica int
	runID   string
}

var broken = world.Outcome{Verdict: world.Unreachable, Sent: true, Reason: "EOF"}

func newProcess(does func(ctx context.Context, p *process, d world.Delivery) world.Outcome) *process {
	return &process{
		ended: make(chan struct{}), up: true, inHand: map[*entry]struct{}{}, unseen: map[int]bool{}, begun: map[string]int{}, does: does,
		alone: time.Second, crashFirst: time.Millisecond,
	}
}

// kill ends the process.
func (p *process) kill() world.Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up {
		p.up = false
		p.ends++
		for e := range p.inHand {
			p.unseen[e.replica] = true
		}
		close(p.ended)
	}
	return broken
}

// lasts is a delivery that takes so long, unless the process ends.
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

// noticed hears that a replica has seen that nobody listens; the mutex is held.
func (p *process) noticed(replica int) {
	delete(p.unseen, replica)
	if len(p.unseen) == 0 && !p.up {
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

// seenBy is the process as one replica reaches it.
func (p *process) seenBy(replica int) *reached { return &reached{p, replica} }

type reached struct {
	*process
	replica int
}

func (r *reached) Deliver(ctx context.Context, d world.Delivery) world.Outcome {
	p := r.process
	e := &entry{r.replica, d.RunID}
	p.mu.Lock()
	if !p.up {
		p.noticed(r.replica)
		p.mu.Unlock()
		return unreachable
	}
	p.begun[d.RunID]++
	p.inHand[e] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.inHand, e)
	}()
	return p.does(ctx, p, d)
}

func (r *reached) Gone(context.Context, string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := !r.up
	r.noticed(r.replica)
	return gone && !r.hidden
}

// Package workers runs calls on goroutines that are kept.
package workers

import "sync"

// maxIdle is how many goroutines wait for the next bundle at most.
const maxIdle = 64

// Pool makes calls of bundles on goroutines that have made some before. A call goes deep, and a
// fresh goroutine has to grow its stack for it each time: that took a tenth of the service's time.
type Pool struct {
	mu     sync.Mutex
	idle   []chan Task // the last one was busy last
	closed bool
}

// Task is one call of a bundle to make.
type Task struct {
	Make func(i int)
	I    int
	Done *sync.WaitGroup
}

// Start makes a call at once, whatever else the pool does.
func (p *Pool) Start(t Task) {
	p.mu.Lock()
	last := len(p.idle) - 1
	if last < 0 {
		p.mu.Unlock()
		go p.work(t)
		return
	}
	member := p.idle[last]
	p.idle = p.idle[:last]
	p.mu.Unlock()
	member <- t // it has room for one
}

func (p *Pool) work(t Task) {
	own := make(chan Task, 1)
	for open := true; open; {
		t.Make(t.I)
		t.Done.Done()
		if !p.wait(own) {
			return
		}
		t, open = <-own
	}
}

// wait puts a member among the idle ones; false says that there are enough.
func (p *Pool) wait(member chan Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == maxIdle {
		return false
	}
	p.idle = append(p.idle, member)
	return true
}

// Close lets those that wait end, and the others when they are done. Calls can still be made.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, member := range p.idle {
		close(member)
	}
	p.idle = nil
}

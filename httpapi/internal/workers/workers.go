// Package workers has a pool of goroutines.
package workers

import "sync"

// maxIdle is the largest number of idle goroutines.
const maxIdle = 64

// Pool runs tasks on pooled goroutines whose stacks have grown. A call needs a deep stack, and growing that
// on a new goroutine for each call took a tenth of the service's CPU time.
type Pool struct {
	mu     sync.Mutex
	idle   []chan Task // the most recently used one is last
	closed bool
}

// Task is a function to call, with its argument. Done counts it when it is over.
type Task struct {
	Make func(i int)
	I    int
	Done *sync.WaitGroup
}

// Start runs a task immediately, on a new goroutine if none is idle.
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
	member <- t // it has a buffer of one
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

// wait makes a goroutine idle. It returns false if there are enough idle ones.
func (p *Pool) wait(member chan Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == maxIdle {
		return false
	}
	p.idle = append(p.idle, member)
	return true
}

// Close ends the idle goroutines, and the others when their tasks are done. Tasks can still be started.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, member := range p.idle {
		close(member)
	}
	p.idle = nil
}

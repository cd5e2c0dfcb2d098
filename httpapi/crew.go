package httpapi

import "sync"

// crewSize is how many goroutines wait for the next bundle at most.
const crewSize = 64

// crew makes calls of bundles on goroutines that have made some before. A call goes deep, and a
// fresh goroutine has to grow its stack for it each time: that took a tenth of the service's time.
type crew struct {
	mu     sync.Mutex
	idle   []chan task // the last one was busy last
	closed bool
}

// task is one call of a bundle to make.
type task struct {
	make func(i int)
	i    int
	done *sync.WaitGroup
}

// start makes a call at once, whatever else the crew does.
func (c *crew) start(t task) {
	c.mu.Lock()
	last := len(c.idle) - 1
	if last < 0 {
		c.mu.Unlock()
		go c.work(t)
		return
	}
	member := c.idle[last]
	c.idle = c.idle[:last]
	c.mu.Unlock()
	member <- t // it has room for one
}

func (c *crew) work(t task) {
	own := make(chan task, 1)
	for open := true; open; {
		t.make(t.i)
		t.done.Done()
		if !c.wait(own) {
			return
		}
		t, open = <-own
	}
}

// wait puts a member among the idle ones; false says that there are enough.
func (c *crew) wait(member chan task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) == crewSize {
		return false
	}
	c.idle = append(c.idle, member)
	return true
}

// close lets those that wait end, and the others when they are done. Calls can still be made.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, member := range c.idle {
		close(member)
	}
	c.idle = nil
}

package httpapi

import (
	"context"
	"sync"
)

// callSockets counts the open sockets, which http.Server lets go of.
type callSockets struct {
	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup
}

// add reports false when no more are taken.
func (c *callSockets) add() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open.Add(1)
	}
	return !c.closed
}

// wait takes no more and waits until none is open; ctx bounds it.
func (c *callSockets) wait(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	none := make(chan struct{})
	go func() {
		c.open.Wait()
		close(none)
	}()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

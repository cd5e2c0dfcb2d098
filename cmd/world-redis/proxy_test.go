package main

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// cutter is a TCP proxy that cuts a connection after a random number of bytes in either
// direction, in the midst of whatever is on its way.
type cutter struct {
	listener net.Listener
	target   string
	most     int          // bytes that one direction may carry
	hear     func(string) // told of what one read of a client's connection brings; nil: nobody is
	cutting  atomic.Bool  // while false, everything passes
	cuts     atomic.Int64 // connections that were cut
	mu       sync.Mutex
	open     map[net.Conn]struct{}
	closed   bool
	running  sync.WaitGroup
}

func newCutter(t *testing.T, target string, most int, hear func(string)) *cutter {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{listener: l, target: target, most: most, hear: hear, open: map[net.Conn]struct{}{}}
	c.running.Go(c.accept)
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		c.closed = true
		for conn := range c.open {
			_ = conn.Close()
		}
		c.mu.Unlock()
		c.running.Wait()
	})
	return c
}

func (c *cutter) addr() string { return c.listener.Addr().String() }

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target) //nolint:noctx // ends with the listener
		if err != nil {
			_ = client.Close()
			continue
		}
		c.mu.Lock()
		c.open[client], c.open[server] = struct{}{}, struct{}{}
		if c.closed {
			_, _ = client.Close(), server.Close()
		}
		c.mu.Unlock()
		left := func() int { return 1 + rand.IntN(c.most) } //nolint:gosec // any number does
		c.running.Go(func() { c.pump(client, server, c.hear, left()) })
		c.running.Go(func() { c.pump(server, client, nil, left()) })
	}
}

func (c *cutter) pump(from, to net.Conn, hear func(string), left int) {
	defer func() {
		_, _ = from.Close(), to.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, from)
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if hear != nil {
			hear(string(buffer[:n]))
		}
		cut := c.cutting.Load() && n >= left
		if cut {
			n = left
			c.cuts.Add(1)
		}
		left -= n
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil || cut {
			return
		}
		if left <= 0 {
			left = 1 // nothing was cut so far; the next byte will be
		}
	}
}

package main

import (
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"github.com/world-redis/world-redis/internal/worldtest"
)

// cutter is a TCP proxy that cuts a connection after a random number of bytes in either direction, at any point of the
// traffic.
type cutter struct {
	*worldtest.Proxy
	cutting atomic.Bool  // while false, everything passes
	cuts    atomic.Int64 // connections that were cut
}

// newCutter starts a cutter; most is how many bytes one direction may carry. seen is called with each read of a
// client's connection; nil disables it.
func newCutter(t *testing.T, target string, most int, seen func(string)) *cutter {
	t.Helper()
	c := &cutter{}
	left := func() int { return 1 + rand.IntN(most) } //nolint:gosec // any number does
	c.Proxy = worldtest.NewProxy(t, target, func() (requests, answers worldtest.Pump) {
		return func(to, from net.Conn) { c.pump(to, from, seen, left()) }, func(to, from net.Conn) { c.pump(to, from, nil, left()) }
	})
	return c
}

func (c *cutter) pump(to, from net.Conn, seen func(string), left int) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if seen != nil {
			seen(string(buffer[:n]))
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

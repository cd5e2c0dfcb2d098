// Package worldtest holds what the tests of several packages use: a clock, a log, a proxy, and CBOR.
package worldtest

import (
	"sync"
	"time"
)

// Clock is a clock that a test moves. The zero Clock is the machine's.
type Clock struct {
	mu    sync.Mutex
	each  time.Duration // by which it goes on at each look
	moved time.Duration
	still time.Time // that moved counts from; zero: the machine's time
}

// StoppedClock returns a clock that stands still until it is moved.
func StoppedClock(at time.Time) *Clock { return &Clock{still: at} }

// SkewedClock returns a clock that is ahead of the machine's, or behind it where by is negative.
func SkewedClock(by time.Duration) *Clock { return &Clock{moved: by} }

// TickingClock returns the machine's clock that also goes on by each at each look: what happens later has a later time.
func TickingClock(each time.Duration) *Clock { return &Clock{each: each} }

// Now implements world.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += c.each
	if c.still.IsZero() {
		return time.Now().Add(c.moved)
	}
	return c.still.Add(c.moved)
}

// Add moves the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// Tick has the clock go on by each at each look.
func (c *Clock) Tick(each time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.each = each
}

// Set stops the clock at a time.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.still, c.moved = at, 0
}

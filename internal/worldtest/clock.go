// Package worldtest holds what tests of several packages use: a clock, a log, a proxy, and CBOR.
package worldtest

import (
	"sync"
	"time"
)

// Clock is a clock that a test controls. The zero Clock is the machine's.
type Clock struct {
	mu    sync.Mutex
	each  time.Duration // how far each reading advances it
	moved time.Duration
	still time.Time // start of a stopped clock, to which moved is added; zero means the machine's time
}

// StoppedClock returns a clock that stands still until it is moved.
func StoppedClock(at time.Time) *Clock { return &Clock{still: at} }

// SkewedClock returns a clock that is ahead of the machine's, or behind it if by is negative.
func SkewedClock(by time.Duration) *Clock { return &Clock{moved: by} }

// TickingClock returns the machine's clock, which also advances by each at every reading: later readings have later
// times.
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

// Tick makes the clock advance by each at every reading.
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

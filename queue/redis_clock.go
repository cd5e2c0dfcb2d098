package queue

import (
	"strconv"
	"sync"
	"time"
)

// redisClock knows about what Redis's clock shows. A call says by it until when it is meant: one
// that waited in the socket of a Redis which stood still is carried out when its caller has long
// given it up, and would then take messages for nobody, or take them from replicas that could
// not renew their leases either.
type redisClock struct {
	mu    sync.Mutex
	shown float64   // seconds; 0: not known
	asked time.Time // by the process's own clock; it was shown a little later
}

// learn hears what the clock showed when it was asked.
func (c *redisClock) learn(asked time.Time, shown float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown, c.asked = shown, asked
}

// forget makes the next calls valid for ever: the clock was set, or what it showed is in doubt.
func (c *redisClock) forget() { c.learn(time.Time{}, 0) }

// after returns the moment d from now, in seconds with three decimals; empty: not known.
func (c *redisClock) after(d time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown == 0 {
		return ""
	}
	return strconv.FormatFloat(c.shown+(time.Since(c.asked)+d).Seconds(), 'f', 3, 64)
}

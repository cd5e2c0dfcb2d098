package lane

import (
	"strconv"
	"sync"
	"time"
)

// redisClock estimates what Redis's clock shows. Each call names the time on that clock until which its caller waits. A call
// that waited in the socket of a paused Redis runs long after its caller has given it up. It would then claim messages for
// nobody, or take them from replicas that could not renew their leases either.
type redisClock struct {
	mu    sync.Mutex
	shown float64   // seconds; 0: not known
	asked time.Time // by the process's own clock; it was shown a little later
}

// learn is called with what the clock showed, and when it was asked.
func (c *redisClock) learn(asked time.Time, shown float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown, c.asked = shown, asked
}

// forget makes the next calls valid without limit: the clock was set, or what it showed is in doubt.
func (c *redisClock) forget() { c.learn(time.Time{}, 0) }

// after returns the time d from now, in seconds with three decimals; empty: not known.
func (c *redisClock) after(d time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown == 0 {
		return ""
	}
	return strconv.FormatFloat(c.shown+(time.Since(c.asked)+d).Seconds(), 'f', 3, 64)
}

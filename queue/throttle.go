package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
	"github.com/world-redis/world-redis/queue/internal/script"
)

const (
	// throttleShare is the part of the slots that one app may hold while there are others, in
	// percent.
	throttleShare = 80
	// throttleWait is how long a message waits in its slot for its app to have room. A fast app
	// has it within that time, and the message need not be set aside.
	throttleWait = 5 * time.Millisecond
	// throttleSlow is for how long that is not tried again with an app that was too slow.
	throttleSlow = time.Second
	// throttleTime is when a message that was set aside is looked at again, should nobody have
	// brought it forward: this replica is gone.
	throttleTime = 15 * time.Second
)

// throttle counts the deliveries in work by app, so that one slow app does not take all slots.
type throttle struct {
	clock world.Clock
	mu    sync.Mutex
	gates map[string]*gate // by address
	news  *throttleNews
}

type gate struct {
	inWork  int
	waiting []chan struct{} // closed when the place of a delivery that ended is theirs
	slow    time.Time       // until then nobody waits

	aside      bool // perhaps there are messages set aside
	freed      int  // places for which none of them was brought forward yet
	forwarding bool // somebody is about to
}

func (g *gate) idle() bool { return g.inWork == 0 && !g.aside && !g.forwarding }

func newThrottle(clock world.Clock) *throttle {
	return &throttle{clock: clock, gates: map[string]*gate{}, news: newThrottleNews()}
}

// gate returns the one of an app; the mutex is held.
func (c *throttle) gate(app string) *gate {
	g := c.gates[app]
	if g == nil {
		g = &gate{}
		c.gates[app] = g
	}
	return g
}

// enter takes one of the places of an app, unless it has none left. Whoever entered leaves.
func (c *throttle) enter(ctx context.Context, app string, most int) bool {
	c.mu.Lock()
	g := c.gate(app)
	if g.inWork < most {
		g.inWork++
		c.mu.Unlock()
		return true
	}
	now := c.clock.Now()
	if now.Before(g.slow) {
		c.mu.Unlock()
		return false
	}
	mine := make(chan struct{})
	g.waiting = append(g.waiting, mine)
	c.mu.Unlock()

	timer := time.NewTimer(throttleWait)
	defer timer.Stop()
	select {
	case <-mine:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range g.waiting {
		if w == mine {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			g.slow = now.Add(throttleSlow)
			return false
		}
	}
	return true // it was given just now
}

// leave gives a place back, to one that waits for it, or to those that were set aside: then
// the caller is to call lane.bringForward.
func (c *throttle) leave(app string) (bringForward bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gate(app)
	if len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		return false
	}
	g.inWork--
	if g.aside || g.forwarding {
		return g.free()
	}
	if g.idle() {
		delete(c.gates, app)
	}
	return false
}

// setAside hears that a message of an app was set aside. The app may have room meanwhile:
// then the caller is to call lane.bringForward.
func (c *throttle) setAside(app string, most int) (bringForward bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gate(app)
	g.aside = true
	return g.inWork < most && g.free()
}

// free counts a place, and reports whether the caller is the one to fill it.
func (g *gate) free() bool {
	g.freed++
	mine := !g.forwarding
	g.forwarding = true
	return mine
}

// toFill returns how many messages to bring forward; 0: no more, somebody else does from now on.
func (c *throttle) toFill(app string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gate(app)
	n := g.freed
	g.freed = 0
	if n == 0 {
		g.forwarding = false
		if g.idle() {
			delete(c.gates, app)
		}
		return 0
	}
	g.aside = false // until Redis says otherwise, or another one is set aside
	return n
}

// stillAside hears that more messages of an app are set aside.
func (c *throttle) stillAside(app string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate(app).aside = true
}

// throttleLimit is how many deliveries at a time one app may have here.
func (w *worker) throttleLimit(several bool) int {
	switch {
	case w.q.cfg.AppConcurrency > 0:
		return min(w.q.cfg.AppConcurrency, w.Concurrency)
	case several:
		return max(1, w.Concurrency*throttleShare/100)
	default:
		return w.Concurrency
	}
}

// bringForward fills the places that have become free at an app.
func (w *worker) bringForward(app string) {
	for n := w.throttle.toFill(app); n > 0; n = w.throttle.toFill(app) {
		left, err := w.forward(app, n)
		if err != nil {
			w.log.Debug("messages set aside come back in their own time", slog.Any("error", err))
		}
		if err != nil || left > 0 {
			w.throttle.stillAside(app)
		}
	}
}

// forward brings n of the messages forward that were set aside for an app, and returns how
// many are left.
func (w *worker) forward(app string, n int) (left int64, err error) {
	return w.forwardFrom(w.Keys.ThrottledAt(app), n)
}

// forwardAtOnce is how many messages one call of the script brings forward, five commands for each.
const forwardAtOnce = 390

// forwardFrom does so with the messages that are set aside in a sorted set.
func (w *worker) forwardFrom(aside string, n int) (left int64, err error) {
	for ; n > forwardAtOnce; n -= forwardAtOnce {
		if left, err = w.forwardPart(aside, forwardAtOnce); err != nil || left == 0 {
			return left, err
		}
	}
	return w.forwardPart(aside, n)
}

func (w *worker) forwardPart(aside string, n int) (left int64, err error) {
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	k := &w.Keys
	reply, err := w.q.scripts.Forward.Run(ctx, w.q.redis, []string{aside, k.Retry, k.Pending, k.Bell},
		k.Task, n, w.q.cfg.Clock.Now().UnixNano(), w.q.process.Ring(0))
	if err != nil {
		return 0, err
	}
	w.Notify(0)
	return script.Code(reply)
}

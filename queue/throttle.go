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
	// throttleShare is the share of the slots that one app may use while there are others, in
	// percent.
	throttleShare = 80
	// throttleWait is how long a message waits in its slot until its app has capacity. A fast app
	// has some within that time, and the message is not set aside.
	throttleWait = 5 * time.Millisecond
	// throttleSlow is how long messages for an app that was too slow do not wait in their slots.
	throttleSlow = time.Second
	// throttleTime is when a message that was set aside is claimed again if nothing has
	// brought it forward, because this replica is gone.
	throttleTime = 15 * time.Second
)

// throttle counts the running deliveries of each app, so that one slow app does not use all slots.
type throttle struct {
	clock world.Clock
	mu    sync.Mutex
	gates map[string]*gate // by address
	news  *throttleNews
}

// gate is the throttle of one app.
type gate struct {
	inWork  int             // running deliveries
	waiting []chan struct{} // messages that wait in their slots; closed when they may be delivered
	slow    time.Time       // until then none waits

	aside      bool // messages are perhaps set aside
	freed      int  // deliveries that ended and for which no message was brought forward yet
	forwarding bool // a caller brings messages forward
}

func (g *gate) idle() bool { return g.inWork == 0 && !g.aside && !g.forwarding }

func newThrottle(clock world.Clock) *throttle {
	return &throttle{clock: clock, gates: map[string]*gate{}, news: newThrottleNews()}
}

// gate returns the gate of an app. The mutex is held.
func (c *throttle) gate(app string) *gate {
	g := c.gates[app]
	if g == nil {
		g = &gate{}
		c.gates[app] = g
	}
	return g
}

// enter reports whether a delivery to an app may begin, and counts it. The caller then has to call leave.
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
	return true // the channel was closed just now
}

// leave ends a delivery. Another one that waits in its slot may begin, or a message that was set aside: then
// the caller has to call worker.bringForward.
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

// setAside is called when a message for an app was set aside. If the app has capacity by now,
// the caller has to call worker.bringForward.
func (c *throttle) setAside(app string, most int) (bringForward bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gate(app)
	g.aside = true
	return g.inWork < most && g.free()
}

// free counts a delivery that ended, and reports whether the caller has to bring messages forward.
func (g *gate) free() bool {
	g.freed++
	mine := !g.forwarding
	g.forwarding = true
	return mine
}

// toFill returns how many messages the caller has to bring forward. At 0 it is done; the next caller continues.
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

// stillAside is called when more messages for an app are set aside.
func (c *throttle) stillAside(app string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate(app).aside = true
}

// throttleLimit is how many deliveries at a time one app may have in this process.
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

// bringForward makes messages pending that were set aside for an app, as many as it has capacity for.
func (w *worker) bringForward(app string) {
	for n := w.throttle.toFill(app); n > 0; n = w.throttle.toFill(app) {
		left, err := w.forward(app, n)
		if err != nil {
			w.log.Debug("messages that were set aside are delivered when they are due", slog.Any("error", err))
		}
		if err != nil || left > 0 {
			w.throttle.stillAside(app)
		}
	}
}

// forward makes n of the messages pending that were set aside for an app, and returns how
// many are left.
func (w *worker) forward(app string, n int) (left int64, err error) {
	return w.forwardFrom(w.Keys.ThrottledAt(app), n)
}

// forwardAtOnce bounds the messages that one call of the script brings forward, with five commands for each.
const forwardAtOnce = 390

// forwardFrom does the same with the messages in a sorted set.
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
		k.Task, n, w.q.cfg.Clock.Now().UnixNano(), w.q.process.RingText(0))
	if err != nil {
		return 0, err
	}
	w.Notify(0)
	return script.Code(reply)
}

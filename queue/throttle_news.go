package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// throttleNewsPause is the pause between two looks at what was set aside.
const throttleNewsPause = 10 * time.Millisecond

// throttleNews are the apps for which other replicas have set messages aside. They may have capacity in this process.
type throttleNews struct {
	mu   sync.Mutex
	apps map[string]struct{}
	work chan struct{} // capacity 1: there are some
}

func newThrottleNews() *throttleNews {
	return &throttleNews{apps: map[string]struct{}{}, work: make(chan struct{}, 1)}
}

// add notes an app. An empty one means all registered apps.
func (n *throttleNews) add(app string) {
	n.mu.Lock()
	n.apps[app] = struct{}{}
	n.mu.Unlock()
	select {
	case n.work <- struct{}{}:
	default:
	}
}

func (n *throttleNews) drain() map[string]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	apps := n.apps
	n.apps = map[string]struct{}{}
	return apps
}

// admitThrottled brings messages forward that other replicas have set aside, as far as there is capacity in this process,
// until ctx ends.
func (w *worker) admitThrottled(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.throttle.news.work:
		}
		apps := w.throttle.news.drain()
		if w.q.phases.Claiming.Err() != nil {
			return
		}
		if err := w.invite(ctx, apps); err != nil && ctx.Err() == nil {
			w.log.Debug("messages that other replicas have set aside are delivered when they are due", slog.Any("error", err))
		}
		pause.For(ctx, throttleNewsPause)
	}
}

func (w *worker) invite(ctx context.Context, apps map[string]struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, lane.RedisTimeout)
	defer cancel()
	alive, err := w.q.apps.Addresses(ctx)
	if err != nil {
		return err
	}
	if _, all := apps[""]; all {
		delete(apps, "")
		for address := range alive {
			apps[address] = struct{}{}
		}
		if w.q.cfg.BaseURL != "" {
			apps[w.q.cfg.BaseURL] = struct{}{}
		}
	}
	most := w.throttleLimit(len(alive) > 1)
	for app := range apps {
		if w.throttle.room(app, most, w.FreeSlots()) {
			w.bringForward(app)
		}
	}
	return nil
}

// room is called when messages for an app are set aside. It reports whether the caller has to call
// worker.bringForward, because the app may have more deliveries in this process. If not, each delivery that ends
// brings one message forward from now on.
func (c *throttle) room(app string, most, slots int) (bringForward bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gate(app)
	g.aside = true
	places := min(most-g.inWork, slots)
	if places <= 0 {
		return false
	}
	g.freed = places
	mine := !g.forwarding
	g.forwarding = true
	return mine
}

package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// throttleNewsPause keeps many messages that are set aside from becoming many questions.
const throttleNewsPause = 10 * time.Millisecond

// throttleNews are the apps of which other replicas have said that messages were set aside for them:
// they may have room here.
type throttleNews struct {
	mu   sync.Mutex
	apps map[string]struct{}
	work chan struct{} // capacity 1: there are some
}

func newThrottleNews() *throttleNews {
	return &throttleNews{apps: map[string]struct{}{}, work: make(chan struct{}, 1)}
}

// add notes an app. An empty one stands for all that are registered.
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

// admitThrottled takes on what other replicas have set aside, as far as there is room for it here,
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
			w.log.Debug("messages that other replicas set aside come back in their own time", slog.Any("error", err))
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

// room hears that messages of an app are set aside, and reports whether the caller is to call
// lane.bringForward, because the app may have more deliveries here. If not, each one that ends
// brings one forward from now on.
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

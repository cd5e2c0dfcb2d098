package streaming

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// doorbell is the process's one subscription connection. It knows which streams have live
// readers, keeps exactly those subscribed, and wakes the readers of a stream when it rings.
type doorbell struct {
	client redis.UniversalClient
	log    *slog.Logger

	mu         sync.Mutex
	topics     map[string]*topic // by channel
	serial     int64             // of the newest topic
	dirty      map[string]struct{}
	work       chan struct{} // capacity 1: dirty has something
	endSession func()        // of the present session
	heard      atomic.Int64  // doorbells since the start
}

func newDoorbell(client redis.UniversalClient, log *slog.Logger) *doorbell {
	return &doorbell{
		client: client, log: log,
		topics: map[string]*topic{}, dirty: map[string]struct{}{}, work: make(chan struct{}, 1),
	}
}

// join registers a reader; the subscription follows, see topic.ready.
func (d *doorbell) join(keys streamKeys) *listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.topics[keys.channel]
	if t == nil {
		d.serial++
		t = &topic{serial: d.serial, keys: keys, listeners: map[*listener]struct{}{}, ready: make(chan struct{})}
		d.topics[keys.channel] = t
		d.mark(keys.channel)
	}
	l := &listener{topic: t, ring: make(chan struct{}, 1)}
	t.listeners[l] = struct{}{}
	return l
}

// leave takes a reader out; with the last one goes the subscription.
func (d *doorbell) leave(l *listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(l.topic.listeners, l)
	if len(l.topic.listeners) == 0 {
		delete(d.topics, l.topic.keys.channel)
		d.mark(l.topic.keys.channel)
	}
}

func (d *doorbell) mark(channel string) {
	d.dirty[channel] = struct{}{}
	select {
	case d.work <- struct{}{}:
	default:
	}
}

func (d *doorbell) stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{Subscriptions: len(d.topics)}
	for _, t := range d.topics {
		s.Readers += len(t.listeners)
	}
	return s
}

// run holds the connection until ctx ends.
func (d *doorbell) run(ctx context.Context) error {
	for ctx.Err() == nil {
		sessionCtx, end := context.WithCancel(ctx)
		d.setRenew(end)
		err := d.session(sessionCtx)
		end()
		if err != nil {
			d.log.Warn("close the doorbell connection", slog.Any("error", err))
		}
	}
	return nil
}

// renew gives up the connection for a new one, see [Service.audit].
func (d *doorbell) renew() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.endSession != nil {
		d.endSession()
	}
}

func (d *doorbell) setRenew(end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endSession = end
	for channel := range d.topics {
		d.mark(channel)
	}
}

// session is one PubSub of go-redis, which makes its connection anew when it breaks,
// subscribes again, and tells so; messages of the meantime are lost.
func (d *doorbell) session(ctx context.Context) error {
	subscription := d.client.Subscribe(ctx)
	messages := subscription.ChannelWithSubscriptions(redis.WithChannelSize(1000))
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error {
		d.listen(ctx, messages)
		return nil
	})
	parts.Go(func() error {
		d.subscribe(ctx, subscription)
		return nil
	})
	err := parts.Wait()
	if closeErr := subscription.Close(); err == nil {
		err = closeErr
	}
	return err
}

// subscribe makes the connection's subscriptions what the readers need. One goroutine does
// it, so that leaving and joining again cannot overtake each other.
func (d *doorbell) subscribe(ctx context.Context, subscription *redis.PubSub) {
	subscribed := map[string]struct{}{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.work:
		}
		join, leave := d.changes(subscribed)
		// On error go-redis remembers the channels for its next connection.
		if len(join) > 0 {
			if err := subscription.Subscribe(ctx, join...); err != nil && ctx.Err() == nil {
				d.log.Warn("subscribe to doorbells", slog.Any("error", err))
			}
		}
		if len(leave) > 0 {
			if err := subscription.Unsubscribe(ctx, leave...); err != nil && ctx.Err() == nil {
				d.log.Warn("unsubscribe from doorbells", slog.Any("error", err))
			}
		}
	}
}

// changes takes the marked channels and brings subscribed up to date.
func (d *doorbell) changes(subscribed map[string]struct{}) (join, leave []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for channel := range d.dirty {
		_, has := subscribed[channel]
		switch _, wanted := d.topics[channel]; {
		case wanted && !has:
			subscribed[channel] = struct{}{}
			join = append(join, channel)
		case wanted && has:
			// Left and joined again before this goroutine looked: it never stopped.
			d.confirm(d.topics[channel])
		case !wanted && has:
			delete(subscribed, channel)
			leave = append(leave, channel)
		}
	}
	clear(d.dirty)
	return join, leave
}

func (d *doorbell) listen(ctx context.Context, messages <-chan any) {
	for {
		select {
		case <-ctx.Done():
			return
		case message, open := <-messages:
			if !open {
				return
			}
			d.handle(message)
		}
	}
}

func (d *doorbell) handle(message any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch m := message.(type) {
	case *redis.Subscription:
		t := d.topics[m.Channel]
		if m.Kind != "subscribe" || t == nil {
			return
		}
		// The second time it is a new connection, and doorbells may have been lost.
		again := t.confirmed
		d.confirm(t)
		if again {
			t.wakeAll()
		}
	case *redis.Message:
		d.heard.Add(1)
		t := d.topics[m.Channel]
		if t == nil {
			return
		}
		if count, err := strconv.ParseInt(m.Payload, 10, 64); err == nil {
			t.wake(count)
			return
		}
		t.told++
		t.wakeAll() // the end: also for readers that start beyond it
	}
}

func (d *doorbell) confirm(t *topic) {
	if !t.confirmed {
		t.confirmed = true
		close(t.ready)
	}
}

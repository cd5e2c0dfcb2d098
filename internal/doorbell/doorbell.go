// Package doorbell is a process's one subscription connection for many channels.
//
// A channel has at most one listener. Lost messages are not repeated, so a listener must also check periodically. The
// connection guarantees that a listener is notified when its subscription begins, and again whenever it may have
// missed something.
package doorbell

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Listener receives the messages of a channel. Its methods are called from the connection's goroutines, possibly once
// more just after [Bell.Leave], and must not block.
type Listener interface {
	// Ready means that every later message will be received. It is called again after each reconnection, and messages
	// may have been lost before that.
	Ready()
	// Ring is called for each message.
	Ring(payload string)
}

// Bell holds the connection. It is made with [New] and run with [Bell.Run].
type Bell struct {
	client redis.UniversalClient
	log    *slog.Logger

	mu         sync.Mutex
	listeners  map[string]Listener // by channel
	dirty      map[string]struct{} // channels whose subscription may have to change
	work       chan struct{}       // capacity 1: dirty is not empty
	endSession func()              // ends the current session
	heard      atomic.Int64
	turn       chan struct{} // capacity 1: held by the Run that holds the connection

	rightsEvery time.Duration // rightsInterval, or less in tests
}

// New returns a Bell that receives nothing until it runs.
func New(client redis.UniversalClient, log *slog.Logger) *Bell {
	return &Bell{
		client: client, log: log, rightsEvery: rightsInterval,
		listeners: map[string]Listener{}, dirty: map[string]struct{}{}, work: make(chan struct{}, 1), turn: make(chan struct{}, 1),
	}
}

// Join makes l the listener of a channel and replaces an earlier one. The subscription follows, see [Listener.Ready].
func (b *Bell) Join(channel string, l Listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[channel] = l
	b.mark(channel)
}

// Leave ends the subscription of a channel.
func (b *Bell) Leave(channel string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners, channel)
	b.mark(channel)
}

func (b *Bell) mark(channel string) {
	b.dirty[channel] = struct{}{}
	select {
	case b.work <- struct{}{}:
	default:
	}
}

// Heard counts the messages received since the start.
func (b *Bell) Heard() int64 { return b.heard.Load() }

// Run holds the connection until ctx ends. Every user of the bell calls Run: one of them holds the connection, and
// when it ends, another takes over.
func (b *Bell) Run(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil
	}
	var rights sync.WaitGroup
	rights.Go(func() { b.watchRights(ctx, b.rightsEvery) })
	defer rights.Wait()
	for ctx.Err() == nil {
		sessionCtx, end := context.WithCancel(ctx)
		b.begin(end)
		err := b.session(sessionCtx)
		end()
		if err != nil {
			b.log.Warn("the doorbell connection could not be closed", slog.Any("error", err))
		}
	}
	return nil
}

// Renew replaces the connection. Callers use it when nothing arrives: after a failover a connection can stay up with
// a node that nobody publishes to.
func (b *Bell) Renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.endSession != nil {
		b.endSession()
	}
}

func (b *Bell) begin(end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endSession = end
	for channel := range b.listeners {
		b.mark(channel)
	}
}

// session is one PubSub of go-redis. It reconnects when the connection breaks, subscribes again and reports that;
// messages in between are lost.
func (b *Bell) session(ctx context.Context) error {
	subscription := b.client.Subscribe(ctx)
	messages := subscription.ChannelWithSubscriptions(redis.WithChannelSize(1000))
	var parts sync.WaitGroup
	parts.Go(func() { b.listen(ctx, messages) })
	parts.Go(func() { b.subscribe(ctx, subscription) })
	parts.Wait()
	return subscription.Close()
}

// subscribe adjusts the connection's subscriptions to the listeners. Only one goroutine does it, so that leaving and
// joining again cannot overtake each other.
func (b *Bell) subscribe(ctx context.Context, subscription *redis.PubSub) {
	subscribed := map[string]struct{}{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.work:
		}
		join, leave, rejoined := b.changes(subscribed)
		for _, l := range rejoined {
			l.Ready()
		}
		// After an error go-redis keeps the channels for its next connection.
		if len(join) > 0 {
			if err := subscription.Subscribe(ctx, join...); err != nil && ctx.Err() == nil {
				b.log.Info("channels could not be subscribed to; the next connection subscribes to them", slog.Any("error", err))
			}
		}
		if len(leave) > 0 {
			if err := subscription.Unsubscribe(ctx, leave...); err != nil && ctx.Err() == nil {
				b.log.Info("channels could not be unsubscribed from; the next connection leaves them out", slog.Any("error", err))
			}
		}
	}
}

// changes takes the marked channels and updates subscribed. If a channel was left and joined again in between, its
// subscription never ended, and its new listener already receives messages.
func (b *Bell) changes(subscribed map[string]struct{}) (join, leave []string, rejoined []Listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for channel := range b.dirty {
		_, has := subscribed[channel]
		switch l, wanted := b.listeners[channel]; {
		case wanted && !has:
			subscribed[channel] = struct{}{}
			join = append(join, channel)
		case wanted && has:
			rejoined = append(rejoined, l)
		case !wanted && has:
			delete(subscribed, channel)
			leave = append(leave, channel)
		}
	}
	clear(b.dirty)
	return join, leave, rejoined
}

func (b *Bell) listen(ctx context.Context, messages <-chan any) {
	for {
		select {
		case <-ctx.Done():
			return
		case message, open := <-messages:
			if !open {
				return
			}
			b.handle(message)
		}
	}
}

func (b *Bell) handle(message any) {
	switch m := message.(type) {
	case *redis.Subscription:
		if l := b.listener(m.Channel); l != nil && m.Kind == "subscribe" {
			l.Ready()
		}
	case *redis.Message:
		b.heard.Add(1)
		if l := b.listener(m.Channel); l != nil {
			l.Ring(m.Payload)
		}
	}
}

func (b *Bell) listener(channel string) Listener {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listeners[channel]
}

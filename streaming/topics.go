package streaming

import (
	"sync"

	"github.com/world-redis/world-redis/internal/doorbell"
)

// topics has the streams with live readers, and keeps exactly those subscribed on the process's one subscription
// connection.
type topics struct {
	bell *doorbell.Bell

	mu        sync.Mutex        // not held while the bell calls
	byChannel map[string]*topic // the channel of each stream's doorbell
	serial    int64             // of the newest topic
}

func newTopics(bell *doorbell.Bell) *topics {
	return &topics{bell: bell, byChannel: map[string]*topic{}}
}

// join registers a reader. The subscription follows, see topic.ready.
func (all *topics) join(keys streamKeys) *listener {
	all.mu.Lock()
	defer all.mu.Unlock()
	t := all.byChannel[keys.channel]
	if t == nil {
		all.serial++
		t = &topic{owner: all, serial: all.serial, keys: keys, listeners: map[*listener]struct{}{}, ready: make(chan struct{})}
		all.byChannel[keys.channel] = t
		all.bell.Join(keys.channel, t)
	}
	l := &listener{topic: t, ring: make(chan struct{}, 1)}
	t.listeners[l] = struct{}{}
	return l
}

// leave removes a reader. The last one ends the subscription.
func (all *topics) leave(l *listener) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(l.topic.listeners, l)
	if len(l.topic.listeners) == 0 {
		delete(all.byChannel, l.topic.keys.channel)
		all.bell.Leave(l.topic.keys.channel)
	}
}

func (all *topics) stats() Stats {
	all.mu.Lock()
	defer all.mu.Unlock()
	s := Stats{Subscriptions: len(all.byChannel)}
	for _, t := range all.byChannel {
		s.Readers += len(t.listeners)
	}
	return s
}

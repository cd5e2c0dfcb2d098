package streaming

import (
	"strconv"
	"sync"

	"github.com/world-redis/world-redis/internal/doorbell"
)

// readers knows which streams have live readers, keeps exactly those subscribed on the process's one subscription
// connection, and wakes the readers of a stream when its doorbell rings.
type readers struct {
	bell *doorbell.Bell

	mu     sync.Mutex        // not held while the bell calls
	topics map[string]*topic // by channel
	serial int64             // of the newest topic
}

func newReaders(bell *doorbell.Bell) *readers {
	return &readers{bell: bell, topics: map[string]*topic{}}
}

// join registers a reader. The subscription follows, see topic.ready.
func (d *readers) join(keys streamKeys) *listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.topics[keys.channel]
	if t == nil {
		d.serial++
		t = &topic{owner: d, serial: d.serial, keys: keys, listeners: map[*listener]struct{}{}, ready: make(chan struct{})}
		d.topics[keys.channel] = t
		d.bell.Join(keys.channel, t)
	}
	l := &listener{topic: t, ring: make(chan struct{}, 1)}
	t.listeners[l] = struct{}{}
	return l
}

// leave removes a reader. The last one ends the subscription.
func (d *readers) leave(l *listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(l.topic.listeners, l)
	if len(l.topic.listeners) == 0 {
		delete(d.topics, l.topic.keys.channel)
		d.bell.Leave(l.topic.keys.channel)
	}
}

func (d *readers) stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{Subscriptions: len(d.topics)}
	for _, t := range d.topics {
		s.Readers += len(t.listeners)
	}
	return s
}

// Ready implements [doorbell.Listener]. A second call means a new connection, and doorbells may have been lost.
func (t *topic) Ready() {
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	if t.confirmed {
		t.wakeAll()
		return
	}
	t.confirmed = true
	close(t.ready)
}

// Ring implements [doorbell.Listener].
func (t *topic) Ring(payload string) {
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	if count, err := strconv.ParseInt(payload, 10, 64); err == nil {
		t.wake(count)
		return
	}
	t.announced++
	t.wakeAll() // the end: also for readers that start after it
}

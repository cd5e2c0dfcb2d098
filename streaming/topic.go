package streaming

import (
	"strconv"
	"sync/atomic"
)

// topic is a stream that has live readers.
type topic struct {
	owner     *topics
	serial    int64 // distinguishes it from an earlier topic of the same stream
	keys      streamKeys
	listeners map[*listener]struct{}
	rings     atomic.Int64
	ready     chan struct{} // closed when Redis has confirmed the subscription
	confirmed bool
	audited   bool
	announced int64 // number of records (chunks, and the end) that doorbells and audits announced
}

// listener is one live reader.
type listener struct {
	topic *topic
	next  atomic.Int64  // index of the chunk that the reader wants next
	ring  chan struct{} // capacity 1: there may be new records
	over  atomic.Bool   // the ring may mean that the stream is over, or that its run does not exist
}

// wake wakes the readers that lack some of the first count records. It is called with mu held.
func (t *topic) wake(count int64) {
	t.rings.Add(1)
	t.announced = max(t.announced, count)
	for l := range t.listeners {
		if l.next.Load() < count {
			l.wake()
		}
	}
}

func (t *topic) wakeAll() {
	t.rings.Add(1)
	for l := range t.listeners {
		l.wake()
	}
}

func (l *listener) wake() {
	select {
	case l.ring <- struct{}{}:
	default: // the last ring was not handled yet and covers this one
	}
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

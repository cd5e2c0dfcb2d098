package queue

import (
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// dueTimer knows when the next delayed message is due, as far as this process has heard.
type dueTimer struct {
	clock   world.Clock
	mu      sync.Mutex
	next    world.Millis  // 0: none known
	changed chan struct{} // gets an item when next has become earlier
}

func newDueTimer(clock world.Clock) *dueTimer {
	return &dueTimer{clock: clock, changed: make(chan struct{}, 1)}
}

// note hears of a message that is due at a moment.
func (t *dueTimer) note(due world.Millis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next != 0 && t.next <= due {
		return
	}
	t.next = due
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// set replaces what is known by what Redis says; 0: nothing is delayed. What was noted
// since asked is newer than that answer and stays.
func (t *dueTimer) set(asked, next world.Millis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next >= asked && (next == 0 || t.next < next) {
		return
	}
	t.next = next
}

// wait returns how long to sleep until the next message is due, at most limit.
func (t *dueTimer) wait(limit time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == 0 {
		return limit
	}
	return max(0, min(limit, t.next.Time().Sub(t.clock.Now())))
}

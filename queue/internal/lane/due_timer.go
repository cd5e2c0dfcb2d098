package lane

import (
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

// dueTimer holds when the next delayed message is due, as far as this process knows.
type dueTimer struct {
	clock   world.Clock
	mu      sync.Mutex
	next    world.Millis  // 0: none known
	noted   world.Millis  // the earliest that was noted since the last ask; 0: none
	changed chan struct{} // gets an item when next has become earlier
}

func newDueTimer(clock world.Clock) *dueTimer {
	return &dueTimer{clock: clock, changed: make(chan struct{}, 1)}
}

// note is called when a message has a due time.
func (t *dueTimer) note(due world.Millis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noted = earlier(t.noted, due)
	if t.next != 0 && t.next <= due {
		return
	}
	t.next = due
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// ask is called before Redis is asked, and set with its answer.
func (t *dueTimer) ask() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noted = 0
}

// set replaces what is known by what Redis says; 0: nothing is delayed. What was noted since
// the ask is kept, whenever it is due: Redis may have answered before that message came.
func (t *dueTimer) set(next world.Millis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = earlier(next, t.noted)
}

// earlier returns the earlier of two times; 0 is none.
func earlier(a, b world.Millis) world.Millis {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
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

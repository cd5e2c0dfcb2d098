package queue

import (
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/apps"
)

// In an app of SDK v5 the delivery of a flow runs steps, and lasts as long as they do. If each kept
// its slot, runs that wait for other runs could hold all slots, and those others would never get
// one; nor would a hook or a sleep of any run. So a delivery that lasts gives up its slot, and beside
// those a tenth of the slots goes on taking messages. Not while those that last come to an end by and
// by: then nobody waits for ever, and an app that is merely slow must not get more and more to do.
const (
	longRunningAfter = 500 * time.Millisecond
	// longRunningMost is how many times the slots there may be deliveries at a time, all in all.
	longRunningMost = 10
	// longRunningReserve is the part of the slots, one in so many, that is never left to those that last.
	longRunningReserve = 10
)

// longRunning counts the deliveries of a lane that have given up their slots; under the lane's mutex.
type longRunning struct {
	count int
	ended time.Time     // when the last of them came to its end
	freed chan struct{} // capacity 1: there may be a slot
}

func newLongRunning() longRunning { return longRunning{freed: make(chan struct{}, 1)} }

// free says that there may be a slot.
func (n *longRunning) free() {
	select {
	case n.freed <- struct{}{}:
	default:
	}
}

// most is how many deliveries there may be at a time.
func (l *lane) most() int {
	if l.kind == world.KindFlow {
		return l.concurrency * longRunningMost
	}
	return l.concurrency
}

// slotsBeside returns how many more deliveries may begin while so many are in work; the mutex is held.
func (l *lane) slotsBeside(inWork int) int {
	left := l.concurrency - inWork
	if l.longRunning.count > 0 && time.Since(l.longRunning.ended) >= longRunningAfter {
		left = max(left, max(1, l.concurrency/longRunningReserve)-(inWork-l.longRunning.count))
	}
	return min(left, l.most()-inWork)
}

// hasSlot reports whether another message may be delivered, and when to ask again if nothing changes
// until then.
func (l *lane) hasSlot() (ok bool, retryIn time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok = l.slotsBeside(len(l.claims)-len(l.buffer)) > 0
	if retryIn = longRunningAfter - time.Since(l.longRunning.ended); retryIn <= 0 {
		retryIn = longRunningAfter
	}
	return ok, retryIn
}

// awaitSlot waits until another message may perhaps be delivered, or none are taken any more.
func (l *lane) awaitSlot(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-l.longRunning.freed:
	case <-timer.C:
	case <-l.q.claiming.Done():
	}
}

// watch makes a delivery give up its slot when it lasts, until stop is called.
func (l *lane) watch(c *claim, app world.App, m world.Message) (stop func()) {
	if l.kind != world.KindFlow || app.SDK != apps.SDKv5 && m.SDK != apps.SDKv5 {
		return func() {}
	}
	timer := time.AfterFunc(longRunningAfter, func() { l.giveUpSlot(c) })
	return func() { timer.Stop() }
}

func (l *lane) giveUpSlot(c *claim) {
	l.mu.Lock()
	_, held := l.claims[c]
	now := held && !c.longRunning
	if now {
		c.longRunning = true
		l.longRunning.count++
	}
	l.mu.Unlock()
	if !now {
		return
	}
	l.longRunning.free()
	if l.q.cfg.AppConcurrency == 0 {
		l.leave(c) // a limit that somebody set counts all deliveries
	}
}

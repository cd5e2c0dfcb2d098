package lane

import (
	"time"

	"github.com/world-redis/world-redis"
)

// In an app of SDK v5 the delivery of a flow runs steps, and lasts as long as they do. If each kept
// its slot, runs that wait for other runs could hold all slots, and those others would never get
// one; nor would a hook or a sleep of any run. So a long-running delivery gives up its slot, and in addition to
// those deliveries a tenth of the slots continues to claim messages. This stops while long-running deliveries finish one after the
// other: then nothing waits forever, and an app that is only slow must not get more and more to do.
const (
	longRunningAfter = 500 * time.Millisecond
	// longRunningMost bounds the deliveries at a time: so many times the slots.
	longRunningMost = 10
	// longRunningReserve is the share of the slots that long-running deliveries never use: one in so many.
	longRunningReserve = 10
)

// longRunning counts the deliveries of a lane that have given up their slots. The lane's mutex protects it.
type longRunning struct {
	count int
	ended time.Time     // when the last of them finished
	freed chan struct{} // capacity 1: there may be a slot
}

func newLongRunning() longRunning { return longRunning{freed: make(chan struct{}, 1)} }

// free is called when there may be a slot.
func (n *longRunning) free() {
	select {
	case n.freed <- struct{}{}:
	default:
	}
}

// most is how many deliveries there may be at a time.
func (l *Lane) most() int {
	if l.Kind == world.KindFlow {
		return l.Concurrency * longRunningMost
	}
	return l.Concurrency
}

// FreeSlots returns how many more messages may be claimed for delivery.
func (l *Lane) FreeSlots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slotsBeside(len(l.claims))
}

// slotsBeside returns how many more deliveries may begin while there are inWork. The mutex is held.
func (l *Lane) slotsBeside(inWork int) int {
	left := l.Concurrency - inWork
	if l.long.count > 0 && time.Since(l.long.ended) >= longRunningAfter {
		left = max(left, max(1, l.Concurrency/longRunningReserve)-(inWork-l.long.count))
	}
	return min(left, l.most()-inWork)
}

// hasSlot reports whether another message may be delivered, and when to ask again if nothing changes
// until then.
func (l *Lane) hasSlot() (ok bool, retryIn time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok = l.slotsBeside(len(l.claims)-len(l.buffer)) > 0
	if retryIn = longRunningAfter - time.Since(l.long.ended); retryIn <= 0 {
		retryIn = longRunningAfter
	}
	return ok, retryIn
}

// awaitSlot waits until another message may perhaps be delivered, at most for retryIn, or no more are claimed.
func (l *Lane) awaitSlot(retryIn time.Duration) {
	timer := time.NewTimer(retryIn)
	defer timer.Stop()
	select {
	case <-l.long.freed:
	case <-timer.C:
	case <-l.cfg.Phases.Claiming.Done():
	}
}

// Watch makes a delivery give up its slot when it is long-running, until stop is called. Then it calls gaveUp.
func (l *Lane) Watch(c *Claim, gaveUp func()) (stop func()) {
	timer := time.AfterFunc(longRunningAfter, func() {
		if l.giveUpSlot(c) {
			gaveUp()
		}
	})
	return func() { timer.Stop() }
}

func (l *Lane) giveUpSlot(c *Claim) bool {
	l.mu.Lock()
	_, held := l.claims[c]
	now := held && !c.longRunning
	if now {
		c.longRunning = true
		l.long.count++
	}
	l.mu.Unlock()
	if now {
		l.long.free()
	}
	return now
}

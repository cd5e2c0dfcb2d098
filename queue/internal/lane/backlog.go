package lane

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// backlogHigh is the length up to which due messages fill the pending list: enough to keep
	// the slots busy until the next sweep, few enough that a new message soon has its turn.
	// With many slots it is twice their number.
	backlogHigh = 256
	// backlogPause is the longest time that a sweep waits for the list to shrink.
	backlogPause = 100 * time.Millisecond
	// backlogShare: for so many claimed messages one due message is added, however long the list is.
	backlogShare = 4
)

// backlog adds due messages to the pending list gradually when there are many. Pending messages are
// delivered in order, so ten thousand that are due in one second would otherwise
// delay all new ones.
type backlog struct {
	high    int
	is      atomic.Bool
	taken   atomic.Int64  // messages claimed since the last sweep
	drained chan struct{} // gets an item when the list is half empty again
}

func newBacklog(concurrency int) *backlog {
	return &backlog{high: max(backlogHigh, 2*concurrency), drained: make(chan struct{}, 1)}
}

// claimed is called with the number of messages that were claimed, and the number that is left in the list.
func (b *backlog) claimed(n int, left int64) {
	b.taken.Add(int64(n))
	if b.is.Load() && left <= int64(b.high/2) {
		select {
		case b.drained <- struct{}{}:
		default:
		}
	}
}

// share is how many due messages are added although the list is long, so that they are not
// starved: a part of the messages that were claimed since the last call, which may be long ago.
func (b *backlog) share() int64 { return min(b.taken.Swap(0)/backlogShare, int64(b.high/2)) }

func (b *backlog) set(exists bool) { b.is.Store(exists) }

func (b *backlog) exists() bool { return b.is.Load() }

// awaitRoom waits until the list has room again.
func (b *backlog) awaitRoom(ctx context.Context) {
	timer := time.NewTimer(backlogPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.drained:
	case <-ctx.Done():
	}
}

package budget

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"time"
)

// ErrOver means that there is no room, and that none became free while the hold could wait.
var ErrOver = errors.New("over the memory budget")

// depth is the number of levels of the tree of pools.
const depth = 4

// Hold is the memory that one call holds. With only a pool set it holds nothing. It must not be used by several
// goroutines at the same time.
type Hold struct {
	pool  *Pool
	n     int64
	alone [depth]bool // per level, from the pool itself upwards: the hold is larger than the lane there
}

// Of returns a hold without memory. Without a pool it counts nothing.
func Of(p *Pool) Hold { return Hold{pool: p} }

// Bytes is the number of bytes held.
func (h *Hold) Bytes() int64 { return h.n }

// waiter is a hold that waits for room.
type waiter struct {
	hold   *Hold
	n      int64
	at     *Pool // the pool that has no room for it
	served chan struct{}
}

// Grow takes n bytes more. If there is no room, it waits up to patience, or until ctx ends.
func (h *Hold) Grow(ctx context.Context, n int64, patience time.Duration) error {
	if n <= 0 || h.pool == nil {
		return nil
	}
	if h.n+n <= Small && h.pool.trySmall(n) {
		h.n += n
		return nil
	}
	return h.growLarge(ctx, n, patience)
}

// growLarge works on a copy, so that a small hold is not allocated.
func (h *Hold) growLarge(ctx context.Context, n int64, patience time.Duration) error {
	own := *h
	err := own.wait(ctx, n, patience)
	*h = own
	return err
}

func (h *Hold) wait(ctx context.Context, n int64, patience time.Duration) error {
	w, at := h.join(n)
	if w == nil {
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err := ErrOver
	select {
	case <-w.served:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if h.pool.queue.leave(at) {
		return nil // served in the meantime
	}
	return err
}

// join takes the bytes immediately, or queues the hold. A hold that already has memory queues before holds that have
// none, because its memory is freed only after it got the rest.
func (h *Hold) join(n int64) (*waiter, *list.Element) {
	q := h.pool.queue
	q.waiting.Add(1) // before it looks, because memory that is given back from now on is offered to the queue
	q.mu.Lock()
	defer q.mu.Unlock()
	at := h.overtakes()
	if at == nil {
		at = h.tryLarge(n)
	}
	if at == nil {
		q.waiting.Add(-1)
		return nil, nil
	}
	w := &waiter{hold: h, n: n, at: at, served: make(chan struct{})}
	at.blocked++
	if h.n > Small {
		return w, q.waiters.PushFront(w)
	}
	return w, q.waiters.PushBack(w)
}

// overtakes returns a pool that others already wait for, and which a hold without memory must not take before them.
func (h *Hold) overtakes() *Pool {
	if h.n > Small {
		return nil
	}
	for at := h.pool; at != nil; at = at.parent {
		if at.blocked > 0 {
			return at
		}
	}
	return nil
}

// needs returns the first of the hold's pools that is in others.
func (h *Hold) needs(others []*Pool) *Pool {
	for at := h.pool; at != nil && len(others) > 0; at = at.parent {
		if slices.Contains(others, at) {
			return at
		}
	}
	return nil
}

// leave removes a waiter, and reports whether it was served.
func (q *queue) leave(e *list.Element) (served bool) {
	q.mu.Lock()
	w := e.Value.(*waiter) //nolint:forcetypeassert // nothing else is in there
	select {
	case <-w.served:
		served = true
	default:
		w.at.blocked--
		q.waiters.Remove(e)
		q.waiting.Add(-1)
	}
	q.mu.Unlock()
	if !served {
		q.wake() // it may have kept others from overtaking it
	}
	return served
}

// tryLarge takes n bytes more and returns nil, or takes nothing and returns the pool without room. The caller holds
// the queue's lock. Small holds do not take the lock, so a few of them may exceed a limit.
func (h *Hold) tryLarge(n int64) *Pool {
	total, level := h.n+n, 0
	for at := h.pool; at != nil; at = at.parent {
		switch {
		case h.alone[level]:
		case total > at.lane:
			if at.giants == at.most {
				return at
			}
		case at.used.Load()+n > at.room(total):
			return at
		}
		level++
	}
	level = 0
	for at := h.pool; at != nil; at = at.parent {
		switch {
		case h.alone[level]:
		case total > at.lane:
			h.alone[level] = true
			at.giants++
			at.used.Add(-h.n)
		default:
			at.used.Add(n)
		}
		level++
	}
	h.n = total
	return nil
}

// room is how much may be used in total once a hold has the given size.
func (p *Pool) room(total int64) int64 {
	if total <= Small {
		return p.limit
	}
	return p.lane
}

// Force takes n bytes more, even without room: they are already in memory, so refusing them would not help.
func (h *Hold) Force(n int64) {
	level := 0
	for at := h.pool; at != nil; at = at.parent {
		if !h.alone[level] {
			at.used.Add(n)
		}
		level++
	}
	h.n += n
}

// Shrink returns everything above n bytes.
func (h *Hold) Shrink(n int64) {
	back := h.n - n
	if back <= 0 || h.pool == nil {
		return
	}
	q := h.pool.queue
	level := 0
	for at := h.pool; at != nil; at = at.parent {
		switch {
		case !h.alone[level]:
			at.used.Add(-back)
		case n == 0:
			q.mu.Lock()
			at.giants--
			q.mu.Unlock()
			h.alone[level] = false
		}
		level++
	}
	h.n = n
	q.wake()
}

// Release returns everything.
func (h *Hold) Release() { h.Shrink(0) }

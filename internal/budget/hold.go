package budget

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"time"
)

// ErrOver says that there is no room now, and was none for as long as the hold could wait.
var ErrOver = errors.New("over the memory budget")

// depth is how many pools there are above each other.
const depth = 4

// Hold is what one call holds. The zero value with a pool holds nothing. It is not for several goroutines at once.
type Hold struct {
	pool  *Pool
	n     int64
	alone [depth]bool // at the pool itself, at the one above it, …: it is larger than the lane there
}

// Of returns a hold that has nothing yet. Without a pool it counts nothing.
func Of(p *Pool) Hold { return Hold{pool: p} }

// Bytes is how much it holds.
func (h *Hold) Bytes() int64 { return h.n }

// waiter is a hold that waits for room.
type waiter struct {
	hold   *Hold
	n      int64
	at     *Pool // has no room for it
	served chan struct{}
}

// Grow takes n bytes more. Where there is no room for them it waits: for so long, and while ctx lasts.
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

// growLarge works on a copy, so that a small hold takes no memory of its own.
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
		return nil // served meanwhile
	}
	return err
}

// join takes the bytes at once, or puts the hold among those that wait: one that has something already before those
// that have nothing, for what it has is free only when it has got the rest.
func (h *Hold) join(n int64) (*waiter, *list.Element) {
	q := h.pool.queue
	q.waiting.Add(1) // before it looks: what is given back from now on is followed by a look at those that wait
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

// overtakes returns a pool that others wait for already, whom a hold that has nothing must not overtake.
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

// needs returns the first of the hold's pools that is among others.
func (h *Hold) needs(others []*Pool) *Pool {
	for at := h.pool; at != nil && len(others) > 0; at = at.parent {
		if slices.Contains(others, at) {
			return at
		}
	}
	return nil
}

// leave takes a waiter out; true: it has what it waited for.
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

// tryLarge takes n bytes more and returns nil, or takes nothing and returns the pool that has no room. It is called
// with the queue's lock. Small holds do not take it, so a limit may be passed by a few of them.
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

// room is how much may be used when a hold has grown to a size.
func (p *Pool) room(total int64) int64 {
	if total <= Small {
		return p.limit
	}
	return p.lane
}

// Force takes n bytes more, whether or not there is room: they are in memory already, and to refuse them would not help.
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

// Shrink gives back what is more than n bytes.
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

// Release gives back everything.
func (h *Hold) Release() { h.Shrink(0) }

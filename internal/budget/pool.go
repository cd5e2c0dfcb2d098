// Package budget bounds the bytes that the service holds for its callers: bodies that arrive and answers that have not
// been sent.
//
// A [Pool] is a limit. Pools form a tree (the process, its namespaces, their sockets), and what a [Hold] takes counts
// in its pool and in all pools above. Small amounts cost one atomic addition a pool. Large ones share three quarters of
// a limit, so that small calls go on while large ones wait for each other, and they are served in the order in which
// they came. What is larger than that share can fit beside nothing: it goes alone, one such a pool at a time.
package budget

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// Small is how much a hold may have, in bytes, without counting as large.
const Small = 64 << 10

// Pool is a limit. Make the root of a tree with [New].
type Pool struct {
	parent *Pool
	limit  int64 // for all
	lane   int64 // for large holds, whatever is used by small ones included
	used   atomic.Int64
	queue  *queue // of the whole tree

	// The rest is guarded by queue.mu.
	giants  int // holds that are larger than the lane; used does not count them
	most    int // of giants
	blocked int // waiters that this pool had no room for
}

// queue has the holds that wait for room, the first in front.
type queue struct {
	mu      sync.Mutex
	waiters list.List
	waiting atomic.Int32 // waiters.Len(), and those that are about to join
}

// New returns a pool of limit bytes. Two holds that are larger than its lane may exist at a time, so that the large hold of
// one namespace does not make that of another wait.
func New(limit int64) *Pool {
	return &Pool{limit: limit, lane: limit / 4 * 3, most: 2, queue: &queue{}}
}

// Part returns a pool within this one.
func (p *Pool) Part(limit int64) *Pool {
	return &Pool{parent: p, limit: limit, lane: limit / 4 * 3, most: 1, queue: p.queue}
}

// Limit is what the pool was made with.
func (p *Pool) Limit() int64 { return p.limit }

// Used is how many bytes are held, those of holds that go alone excepted.
func (p *Pool) Used() int64 { return p.used.Load() }

// trySmall counts n bytes in this pool and those above it, if there is room.
func (p *Pool) trySmall(n int64) bool {
	for at := p; at != nil; at = at.parent {
		if at.used.Add(n) <= at.limit {
			continue
		}
		for back := p; ; back = back.parent {
			back.used.Add(-n)
			if back == at {
				return false
			}
		}
	}
	return true
}

// wake serves those that wait, in their order, as far as there is room now. One that a pool has no room for is not
// overtaken by others that need the same pool.
func (q *queue) wake() {
	if q.waiting.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var full []*Pool // that had no room for one of those before
	for e := q.waiters.Front(); e != nil; {
		w, next := e.Value.(*waiter), e.Next() //nolint:forcetypeassert // nothing else is in there
		at := w.hold.needs(full)
		if at == nil {
			at = w.hold.tryLarge(w.n)
		}
		w.at.blocked--
		if w.at = at; at == nil {
			q.waiters.Remove(e)
			q.waiting.Add(-1)
			close(w.served)
		} else {
			at.blocked++
			full = append(full, at)
		}
		e = next
	}
}

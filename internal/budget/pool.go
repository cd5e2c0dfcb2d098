// Package budget limits the bytes that the service holds for its callers: request bodies, and answers that are not
// sent yet.
//
// A [Pool] is a limit. Pools form a tree (the process, its namespaces, their sockets), and the bytes of a [Hold]
// count in its pool and in all pools above. A small amount costs one atomic addition per pool. Large ones share three
// quarters of a limit, so that small calls continue while large ones wait for each other; they are served in order of
// arrival. A hold larger than that share fits beside no other: such holds run alone, one at a time per pool.
package budget

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// Small is the most that a hold may have, in bytes, without counting as large.
const Small = 64 << 10

// Pool is a limit. The root of a tree is made with [New].
type Pool struct {
	parent *Pool
	limit  int64 // of all holds
	lane   int64 // of large holds, including what small ones use
	used   atomic.Int64
	queue  *queue // of the whole tree

	// The rest is guarded by queue.mu.
	giants  int // holds that are larger than the lane; used does not count them
	most    int // limit of giants
	blocked int // waiters that this pool has no room for
}

// queue has the holds that wait for room, in order.
type queue struct {
	mu      sync.Mutex
	waiters list.List
	waiting atomic.Int32 // waiters.Len(), and those that are about to join
}

// New returns a pool of limit bytes. Two holds larger than its lane may exist at a time, so that one namespace's
// large hold does not delay another's.
func New(limit int64) *Pool {
	return &Pool{limit: limit, lane: limit / 4 * 3, most: 2, queue: &queue{}}
}

// Part returns a pool within this one.
func (p *Pool) Part(limit int64) *Pool {
	return &Pool{parent: p, limit: limit, lane: limit / 4 * 3, most: 1, queue: p.queue}
}

// Limit is the pool's limit, in bytes.
func (p *Pool) Limit() int64 { return p.limit }

// Used is the number of bytes held, except by holds that run alone.
func (p *Pool) Used() int64 { return p.used.Load() }

// trySmall counts n bytes in this pool and in those above it, if there is room.
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

// wake serves the waiters in order, as far as there is room. No waiter overtakes an earlier one that needs the same
// pool and did not fit.
func (q *queue) wake() {
	if q.waiting.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var full []*Pool // had no room for an earlier waiter
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

package streaming

import (
	"sync"
	"time"
)

// recentSet remembers what was done in the last minute or two, within bounded memory: two
// generations, of which the older is dropped when the younger is full or a minute old.
type recentSet struct {
	mu         sync.Mutex
	young, old map[string]struct{}
	turned     time.Time
}

const (
	recentSize = 4096
	recentAge  = time.Minute
)

func newRecentSet() *recentSet { return &recentSet{young: map[string]struct{}{}} }

func (r *recentSet) has(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	if _, ok := r.young[key]; ok {
		return true
	}
	_, ok := r.old[key]
	return ok
}

func (r *recentSet) add(key string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	r.young[key] = struct{}{}
}

func (r *recentSet) turn(now time.Time) {
	age := now.Sub(r.turned)
	if age >= 0 && age < recentAge && len(r.young) < recentSize {
		return
	}
	r.old, r.young, r.turned = r.young, map[string]struct{}{}, now
	if age >= 2*recentAge {
		r.old = nil
	}
}

package streaming

import (
	"sync"
	"time"
)

// recent remembers values for one to two minutes, within bounded memory. It has two generations, and drops the older
// one when the younger is full or a minute old.
type recent[V any] struct {
	mu         sync.Mutex
	young, old map[string]V
	turned     time.Time
}

const (
	recentSize = 4096
	recentAge  = time.Minute
)

func newRecent[V any]() *recent[V] { return &recent[V]{young: map[string]V{}} }

func (r *recent[V]) get(key string, now time.Time) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	if value, ok = r.young[key]; ok {
		return value, true
	}
	value, ok = r.old[key]
	return value, ok
}

func (r *recent[V]) put(key string, value V, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	r.young[key] = value
}

func (r *recent[V]) turn(now time.Time) {
	age := now.Sub(r.turned)
	if age >= 0 && age < recentAge && len(r.young) < recentSize {
		return
	}
	r.old, r.young, r.turned = r.young, map[string]V{}, now
	if age >= 2*recentAge {
		r.old = nil
	}
}

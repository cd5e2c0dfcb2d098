package runindex

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// unlist removes runs from their old status lists asynchronously. Nobody waits for it: readers skip a run that is still in such a
// list, and what a crash leaves there is removed by the sweeper. Runs that come while others are being removed are removed
// together after them.
type unlist struct {
	mu      sync.Mutex
	waiting []Entry
	idle    chan struct{} // closed when the goroutine that removes runs has ended; nil: there is none
}

// Unlist has a run that is in the list of its status already removed from the others, soon.
func (x *Index) Unlist(e Entry) {
	u := &x.unlist
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = append(u.waiting, e)
	if u.idle == nil {
		u.idle = make(chan struct{})
		go x.unlistAll()
	}
}

// next returns the runs to remove, none at the end.
func (u *unlist) next() []Entry {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.waiting
	u.waiting = nil
	if len(now) == 0 {
		close(u.idle)
		u.idle = nil
	}
	return now
}

// WaitUnlisted returns when no run waits to be removed from a list.
func (x *Index) WaitUnlisted() {
	u := &x.unlist
	u.mu.Lock()
	idle := u.idle
	u.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

func (x *Index) unlistAll() {
	ctx := context.Background()
	for now := x.unlist.next(); len(now) > 0; now = x.unlist.next() {
		if err := x.takeOffEnded(ctx, now); err != nil {
			x.Log.InfoContext(ctx, "runs are left in lists of an earlier status for the sweeper", slog.Int("runs", len(now)), slog.Any("error", err))
			continue
		}
		for _, e := range now {
			if err := x.bringBack(ctx, e); err != nil {
				x.Log.WarnContext(ctx, "a run may be in no list after a failover of Redis; wake it by `world-redis runs wake`", slog.String("run_id", e.RunID), slog.Any("error", err))
			}
		}
	}
}

// takeOffEnded takes runs off the lists that they have been in before, after it has entered those that are to be removed some day
// into the list of due runs.
func (x *Index) takeOffEnded(ctx context.Context, entries []Entry) error {
	due := slices.ContainsFunc(entries, func(e Entry) bool { return e.Due != 0 })
	if due && x.Clustered {
		if err := x.Send.Commands(ctx, func(p redis.Pipeliner) { x.enterDue(ctx, p, entries...) }); err != nil {
			return err
		}
	}
	return x.Send.Commands(ctx, func(p redis.Pipeliner) {
		if due && !x.Clustered {
			x.enterDue(ctx, p, entries...)
		}
		x.takeOff(ctx, p, entries...)
	})
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue"
)

// builds says whether runs may be removed: not while a replica of an older build is alive. That replica knows neither the marks of
// removed runs nor their buckets, and would create such a run anew when a late call brings its input.
type builds struct {
	replicas func(context.Context) ([]queue.Replica, error)
	log      *slog.Logger
	older    atomic.Int64 // replicas of older builds, when they were last counted

	mu   sync.Mutex
	said bool // the log says that nothing is removed
}

// mayRemove is storage.Config.MayRemove.
func (b *builds) mayRemove(ctx context.Context) (bool, error) {
	older, err := b.find(ctx)
	return err == nil && len(older) == 0, err
}

// find returns the replicas of older builds, and logs when there are some and when there are none again.
func (b *builds) find(ctx context.Context) (older []string, err error) {
	all, err := b.replicas(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Knows < queue.KnowsRemovals {
			older = append(older, fmt.Sprintf("%s (pid %d)", r.Host, r.PID))
		}
	}
	b.older.Store(int64(len(older)))
	b.mu.Lock()
	defer b.mu.Unlock()
	if is := len(older) > 0; is != b.said {
		b.said = is
		if is {
			b.log.WarnContext(ctx, "no run is removed while a replica of an older build is alive: it would create removed runs anew; "+
				"stop that replica, or upgrade it", slog.String("replicas", strings.Join(older, ", ")))
		} else {
			b.log.InfoContext(ctx, "all replicas know removed runs; runs are removed again")
		}
	}
	return older, nil
}

// guardedRemover refuses removals while a replica of an older build is alive.
type guardedRemover struct {
	world.RunRemover
	builds *builds
}

// RemoveRun implements world.RunRemover.
func (g guardedRemover) RemoveRun(ctx context.Context, runID string) error {
	older, err := g.builds.find(ctx)
	switch {
	case err != nil:
		return err
	case len(older) > 0:
		return world.Errorf(world.CodeConflict, "No run is removed while a replica of an older build is alive: %s would create removed runs anew. "+
			"Stop it, or upgrade it; one that was killed counts for five minutes", strings.Join(older, ", "))
	default:
		return g.RunRemover.RemoveRun(ctx, runID)
	}
}

package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// largeRun is the number of events from which a run is stored by itself.
	largeRun = 2_000
	// batchFor limits a batch of small runs, and largeFor a large run. What is not stored by then is tried again.
	batchFor, largeFor = 15 * time.Second, 10 * time.Minute
	// damagedMost is how many runs of a batch may be impossible to copy. With more, Redis is the cause and not the runs.
	damagedMost = 20
)

// Keeper copies runs into an archive. Its Keep is called by the one replica that leads; a second one at the same time does no harm,
// because a copy of a run that has ended is the same whenever it is made.
type Keeper struct {
	Archive world.Archive
	Copies  world.RunCopier
	Logger  *slog.Logger

	mu      sync.Mutex
	named   map[string]bool // runs that cannot be copied and are in the log
	stored  atomic.Int64
	damaged atomic.Int64
}

// Stored counts the runs that were archived, and Damaged the attempts to copy runs that cannot be read.
func (k *Keeper) Stored() int64 { return k.stored.Load() }

// Damaged counts the attempts to copy runs that cannot be read.
func (k *Keeper) Damaged() int64 { return k.damaged.Load() }

// Keep copies runs that have ended into the archive, and returns those that are safe there, or that do not exist. Those that are not
// returned are to be given to it again. An error says that the archive or Redis failed; the caller logs it and tries
// again later.
//
// A crash at any point is made good by the next call: a copy is stored as a whole or not at all, and one that is there is replaced.
func (k *Keeper) Keep(ctx context.Context, runIDs []string) (safe []string, err error) {
	for left := runIDs; len(left) > 0; {
		part := left[:min(len(left), world.MaxGetRuns)]
		done, kept, err := k.keepSome(ctx, part)
		safe = append(safe, kept...)
		if err != nil {
			return safe, err
		}
		left = left[done:]
	}
	return safe, nil
}

// keepSome copies the first of the runs, as many as are read at a time, and returns how many that are.
func (k *Keeper) keepSome(ctx context.Context, runIDs []string) (done int, safe []string, err error) {
	copies, err := k.Copies.CopyRuns(ctx, runIDs)
	if err != nil {
		return 0, nil, fmt.Errorf("runs cannot be read for the archive: %w", err)
	}
	var small []*world.RunCopy
	for i, c := range copies {
		switch {
		case c == nil:
			safe = append(safe, runIDs[i]) // it is removed already
		case c.Events >= largeRun:
			kept, err := k.put(ctx, []*world.RunCopy{c}, largeFor)
			safe = append(safe, kept...)
			if err != nil {
				return len(copies), safe, err
			}
		default:
			small = append(small, c)
		}
	}
	kept, err := k.put(ctx, small, batchFor)
	return len(copies), append(safe, kept...), err
}

// put stores copies. A run that cannot be copied is left out.
func (k *Keeper) put(ctx context.Context, copies []*world.RunCopy, limit time.Duration) (safe []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for damaged := 0; len(copies) > 0; damaged++ {
		err := k.Archive.PutRuns(ctx, copies)
		if err == nil {
			for _, c := range copies {
				safe = append(safe, c.Run.RunID)
			}
			k.stored.Add(int64(len(copies)))
			return safe, nil
		}
		var broken *world.CopyError
		if !errors.As(err, &broken) || damaged == damagedMost || ctx.Err() != nil {
			return nil, err
		}
		before := len(copies)
		copies = slices.DeleteFunc(slices.Clone(copies), func(c *world.RunCopy) bool { return c.Run.RunID == broken.RunID })
		if len(copies) == before {
			return nil, err
		}
		k.damaged.Add(1)
		k.name(ctx, broken)
	}
	return nil, nil
}

// namedMost is how many runs that cannot be copied are remembered.
const namedMost = 1_000

// name puts a run that cannot be copied into the log, once.
func (k *Keeper) name(ctx context.Context, broken *world.CopyError) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.named[broken.RunID] {
		return
	}
	if k.named == nil || len(k.named) >= namedMost {
		k.named = map[string]bool{}
	}
	k.named[broken.RunID] = true
	k.Logger.WarnContext(ctx, "a run cannot be copied into the archive, and so stays in Redis; delete it with `world-redis runs delete` if it is of no use",
		slog.String("run_id", broken.RunID), slog.Any("error", broken.Err))
}

package runindex

import (
	"context"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/luascript"
)

// Grace is how old an entry must be before it counts as left behind: the call that wrote it has ended by then.
const Grace = world.Millis(60_000)

// Config is what an Index works with.
type Config struct {
	Redis     redis.UniversalClient
	Send      *luascript.Runner // for commands that may share a pipeline with other calls
	Clustered bool              // a pipeline keeps no order across nodes
	Prefix    string            // of every key
	Log       *slog.Logger
	Now       func() world.Millis
	Dials     func() uint64             // how many connections to Redis were opened
	RunKey    func(runID string) string // of a run, whose field s is the status

	// Peek reads a run without its payloads.
	Peek func(ctx context.Context, runID string) (run world.Run, found bool, err error)
	// Settle completes the last change of a run whose call may have broken off.
	Settle func(ctx context.Context, run world.Run, e Entry) error
	// Reclaim gives the hooks of a run their tokens again.
	Reclaim func(ctx context.Context, e Entry) error
}

// Index is the lists of runs of a store. It is safe for concurrent use.
type Index struct {
	Config
	Keys   Keys
	unlist unlist
}

// New returns an Index.
func New(c Config) *Index { return &Index{Config: c, Keys: Keys{c.Prefix}} }

// Entry is a run's place in the lists.
type Entry struct {
	RunID, Name string
	Status      world.RunStatus
	Score       float64
	Dials       uint64 // connections to Redis that had been opened when the run got the status, or before
	// Due is when a run that has ended is to be removed; 0: never. Its entry in the list of due runs is written before the run leaves
	// the watch, so a crash before that leaves the run where the sweeper looks.
	Due world.Millis
}

// Entry returns the entry of a run. Its place is the time in its id; a run without one gets the time otherwise.
func (x *Index) Entry(runID, name string, otherwise world.Millis, status world.RunStatus) Entry {
	ms, ok := Time(runID)
	if !ok {
		ms = otherwise
	}
	return Entry{RunID: runID, Name: name, Status: status, Score: float64(ms), Dials: x.Dials()}
}

// Time reads the ms of a run id, with or without its prefix.
func Time(runID string) (world.Millis, bool) {
	return ids.Time("", strings.TrimPrefix(runID, "wrun_"))
}

// Statuses lists every run status.
var Statuses = []world.RunStatus{world.RunPending, world.RunRunning, world.RunCompleted, world.RunFailed, world.RunCancelled, world.RunPaused}

// Living are the statuses whose lists a run leaves when its clean-up is complete.
var Living = [3]world.RunStatus{world.RunPending, world.RunRunning, world.RunPaused}

// Add queues the entry into every list it belongs to; the watch is first, so that the others are found after a crash.
func (x *Index) Add(ctx context.Context, p redis.Pipeliner, e Entry) {
	x.Watch(ctx, p, e.RunID)
	z := redis.Z{Score: e.Score, Member: e.RunID}
	p.ZAdd(ctx, x.Keys.All(), z)
	p.ZAdd(ctx, x.Keys.ByName(e.Name), z)
	x.Enter(ctx, p, e)
}

// Enter queues the entry into the list of its status. The run may not have that status yet: it is taken off its other lists when
// it has it.
func (x *Index) Enter(ctx context.Context, p redis.Pipeliner, e Entry) {
	p.ZAdd(ctx, x.Keys.ByStatus(e.Status), redis.Z{Score: e.Score, Member: e.RunID})
}

// Watch queues the entry of runs into the watch.
func (x *Index) Watch(ctx context.Context, p redis.Pipeliner, runIDs ...string) {
	now := float64(x.Now())
	entries := make([]redis.Z, len(runIDs))
	for i, runID := range runIDs {
		entries[i] = redis.Z{Score: now, Member: runID}
	}
	p.ZAdd(ctx, x.Keys.Watch(), entries...)
}

// WatchNow enters a run into the watch.
func (x *Index) WatchNow(ctx context.Context, runID string) error {
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { x.Watch(ctx, p, runID); return nil })
	return err
}

// Move puts a run into the list of its status and takes it off the others. A run that has ended and is off the lists of the
// living has been cleaned up completely, so Move comes last then.
func (x *Index) Move(ctx context.Context, e Entry) error {
	err := x.Send.Commands(ctx, func(p redis.Pipeliner) {
		x.Enter(ctx, p, e)
		x.enterDue(ctx, p, e)
		if !x.Clustered {
			x.takeOff(ctx, p, e)
		}
	})
	if err == nil && x.Clustered {
		err = x.Send.Commands(ctx, func(p redis.Pipeliner) { x.takeOff(ctx, p, e) })
	}
	if err != nil {
		return err
	}
	return x.bringBack(ctx, e)
}

// Leave takes a run off lists of statuses.
func (x *Index) Leave(ctx context.Context, runID string, statuses ...world.RunStatus) error {
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, status := range statuses {
			p.ZRem(ctx, x.Keys.ByStatus(status), runID)
		}
		return nil
	})
	return err
}

// enterDue queues the entries of runs into the list of due runs.
func (x *Index) enterDue(ctx context.Context, p redis.Pipeliner, entries ...Entry) {
	due := make([]redis.Z, 0, len(entries))
	for _, e := range entries {
		if e.Due != 0 {
			due = append(due, redis.Z{Score: float64(e.Due), Member: e.RunID})
		}
	}
	if len(due) > 0 {
		p.ZAdd(ctx, x.Keys.Due(), due...)
	}
}

// takeOff queues the removal of runs from the lists that they have been in before.
func (x *Index) takeOff(ctx context.Context, p redis.Pipeliner, entries ...Entry) {
	pending, running, ended := make([]any, 0, len(entries)), make([]any, 0, len(entries)), make([]any, 0, len(entries))
	for _, e := range entries {
		pending = append(pending, e.RunID)
		if e.Status.Terminal() {
			ended = append(ended, e.RunID)
		}
		if e.Status.Terminal() || e.Status == world.RunPaused {
			running = append(running, e.RunID)
		}
	}
	p.ZRem(ctx, x.Keys.ByStatus(world.RunPending), pending...)
	if len(running) > 0 {
		p.ZRem(ctx, x.Keys.ByStatus(world.RunRunning), running...)
	}
	if len(ended) > 0 {
		p.ZRem(ctx, x.Keys.Watch(), ended...) // last: a look at a watched run compares it with the lists above
	}
}

// bringBack enters a run anew where it belongs if the master that has taken it off its lists may be another one than the master
// that had ended it. A failover may undo the end of a run while the removal from the lists, which followed from it, reaches the
// new master. The run would go on there in no list, where nothing finds it, and without its hooks' tokens.
func (x *Index) bringBack(ctx context.Context, e Entry) error {
	if e.Dials == x.Dials() {
		return nil
	}
	_, err := x.BringBack(ctx, e)
	return err
}

// BringBack enters a run anew where it belongs, with its hooks' tokens, unless it has ended. It reports whether the run goes on.
func (x *Index) BringBack(ctx context.Context, e Entry) (goesOn bool, err error) {
	run, found, err := x.Peek(ctx, e.RunID)
	if err != nil || !found || run.Status.Terminal() {
		return false, err
	}
	if err := x.Reclaim(ctx, e); err != nil {
		return false, err
	}
	return true, x.enterAsIs(ctx, run, e.Score)
}

// AddMissing enters runs into those of their lists in which they are not. A run whose workflow is not known is not entered into
// the list of its workflow.
func (x *Index) AddMissing(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	now := float64(x.Now())
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, e := range entries {
			p.ZAddNX(ctx, x.Keys.Watch(), redis.Z{Score: now, Member: e.RunID})
			z := redis.Z{Score: e.Score, Member: e.RunID}
			p.ZAddNX(ctx, x.Keys.All(), z)
			p.ZAddNX(ctx, x.Keys.ByStatus(e.Status), z)
			if e.Name != "" {
				p.ZAddNX(ctx, x.Keys.ByName(e.Name), z)
			}
		}
		return nil
	})
	return err
}

// enterAsIs enters a run into the lists that it belongs to.
func (x *Index) enterAsIs(ctx context.Context, run world.Run, score float64) error {
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		x.Add(ctx, p, Entry{RunID: run.RunID, Name: run.WorkflowName, Status: run.Status, Score: score})
		return nil
	})
	return err
}

// Remove takes runs that have been removed off all lists.
func (x *Index) Remove(ctx context.Context, entries ...Entry) error {
	ids, byName := make([]any, len(entries)), map[string][]any{}
	for i, e := range entries {
		ids[i] = e.RunID
		byName[e.Name] = append(byName[e.Name], e.RunID)
	}
	_, err := x.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for name, named := range byName {
			p.ZRem(ctx, x.Keys.ByName(name), named...)
		}
		for _, status := range Statuses {
			p.ZRem(ctx, x.Keys.ByStatus(status), ids...)
		}
		for _, key := range []string{x.Keys.All(), x.Keys.Watch(), x.Keys.Due()} {
			p.ZRem(ctx, key, ids...)
		}
		return nil
	})
	return err
}

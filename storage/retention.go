package storage

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// keeping decides when runs that have ended leave Redis.
type keeping struct {
	rules        world.Retention
	archiveAfter time.Duration // 0: only the rules count
	archives     bool          // runs are archived before they are removed
	archivesOwn  bool          // also those that say themselves how long they are kept
}

// endedRun is what the decision depends on.
type endedRun struct {
	name   string // of the workflow; needed only if a rule has a pattern
	status world.RunStatus
	at     world.Millis // when it ended
	own    string       // its attribute world.RetentionAttribute
}

func endingOf(run world.Run) endedRun {
	return endedRun{name: run.WorkflowName, status: run.Status, at: run.CompletedAt, own: ownRetentionOf(run.Attributes)}
}

// ownRetentionOf returns the attribute of a run by which it says how long it is kept.
func ownRetentionOf(attributes world.Raw) string {
	if !bytes.Contains(attributes, []byte(world.RetentionAttribute)) {
		return ""
	}
	var byKey map[string]string
	_ = cbor.Unmarshal(attributes, &byKey) // the store has encoded them
	return byKey[world.RetentionAttribute]
}

// due returns when a run is to be removed, and whether it says so itself; at is 0 for a run that is kept for ever.
func (r *keeping) due(run endedRun) (at world.Millis, own bool) {
	if !run.status.Terminal() {
		return 0, false
	}
	kept, own := world.OwnRetention(run.own)
	found := own
	if !own {
		kept, found = r.rules.For(run.name, run.status)
	}
	if r.archiveAfter > 0 && r.archivesRun(own) && (!found || r.archiveAfter < kept) {
		kept, found = r.archiveAfter, true
	}
	if !found {
		return 0, own
	}
	return run.at + world.Millis(kept/time.Millisecond), own
}

// archivesRun reports whether a run is archived before it is removed.
func (r *keeping) archivesRun(own bool) bool { return r.archives && (!own || r.archivesOwn) }

// dueRuns is what a store knows about runs that are due.
type dueRuns struct {
	keeping
	archive   func(ctx context.Context, runIDs []string) (safe []string, err error)
	mayRemove func(ctx context.Context) (bool, error)
	warned    sync.Once // about a retention of a run that cannot be read
	failing   backoff   // of the removal
	archiving backoff   // of the archive
	pressure  pressure
	oldest    atomic.Int64
	walkNext  time.Time // when the slow walk goes on (due_walk.go)
	removed   [len(removalReasons)]atomic.Int64
}

func newDueRuns(c Config) *dueRuns {
	return &dueRuns{
		keeping: keeping{rules: c.Retention, archiveAfter: c.ArchiveAfter, archives: c.Archive != nil, archivesOwn: c.ArchiveOwnRetention},
		archive: c.Archive, mayRemove: c.MayRemove, pressure: pressure{over: c.Pressure, after: c.PressureAfter},
	}
}

// RemovalReason is why a run was removed.
type RemovalReason string

// Why a run was removed.
const (
	RemovedByRule    RemovalReason = "retention" // a rule of the service, or the archive has it
	RemovedByItself  RemovalReason = "own"       // by the run's own world.RetentionAttribute
	RemovedByRequest RemovalReason = "request"   // RemoveRun
	RemovedEarly     RemovalReason = "pressure"  // before its time, because Redis was too full
)

var removalReasons = [...]RemovalReason{RemovedByRule, RemovedByItself, RemovedByRequest, RemovedEarly}

func (d *dueRuns) count(reason RemovalReason) {
	for i, known := range removalReasons {
		if reason == known {
			d.removed[i].Add(1)
		}
	}
}

// RunsRemoved counts the runs that this process has removed, by reason.
func (s *Store) RunsRemoved() map[RemovalReason]int64 {
	out := make(map[RemovalReason]int64, len(removalReasons))
	for i, reason := range removalReasons {
		out[reason] = s.dueRuns.removed[i].Load()
	}
	return out
}

// dueAfterEnd returns when a run that has ended is to be removed, 0 for never. It warns once of a run's own retention that cannot be
// read.
func (s *Store) dueAfterEnd(ctx context.Context, run world.Run) world.Millis {
	if !run.Status.Terminal() {
		return 0
	}
	ended := endingOf(run)
	at, own := s.dueRuns.due(ended)
	if !own && ended.own != "" && ended.own != "0" {
		s.dueRuns.warned.Do(func() {
			s.log.WarnContext(ctx, "a run has a retention that is not a duration such as 36h or 7d; it is ignored, here and in other runs, and the rules of WORKFLOW_WORLD_RETENTION count",
				slog.String("run_id", run.RunID), slog.String("attribute", world.RetentionAttribute), slog.String("value", ended.own))
		})
	}
	return at
}

// backoff says when a work that failed is tried again. One goroutine uses it.
type backoff struct {
	failed int
	until  time.Time
}

const (
	backoffLeast = time.Second
	backoffMost  = 5 * time.Minute
)

// waits returns how long the next try has to wait.
func (b *backoff) waits() time.Duration { return max(0, time.Until(b.until)) }

// fail notes that a try has failed, and reports whether it is the first one in a row.
func (b *backoff) fail() (first bool) {
	b.until = time.Now().Add(min(backoffMost, backoffLeast<<min(b.failed, 16)))
	b.failed++
	return b.failed == 1
}

// done notes that a try has succeeded, and returns how many had failed before it.
func (b *backoff) done() (failed int) {
	failed = b.failed
	*b = backoff{}
	return failed
}

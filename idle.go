package world

import (
	"context"
	"time"
)

// RunIdle says whether a run without messages waits for something outside, or was forgotten.
type RunIdle struct {
	Events     int64  // in its log
	LastAt     Millis // when the last of them was appended; 0 if there is none
	Hooks      bool   // it has a live hook
	MarkedIdle bool   // [IdleStore.MarkIdle] was called when the log had this many events
	Woken      string // what [IdleStore.NoteWake] noted when the log had this many events, "" if nothing
}

// RunLook is a run that is due for a check.
type RunLook struct {
	RunID string
	Since Millis // the store's last information, see [NextLook]
	Idle  RunIdle
}

// NextLook sets when a run is checked next: once Since is as long ago as the caller of DueRuns waits. 0 means never
// again.
type NextLook struct {
	Look  RunLook
	Since Millis
}

// DueRuns are the runs that are due for a check.
type DueRuns struct {
	Live []RunLook // runs that have not ended
	Left int       // entries that are due but must be checked again later
	More bool      // there may be more
}

// LogSeen is the state of a run's log when a delivery for the run began.
type LogSeen struct {
	Events int64 // at least this many; 0 if not known
	// HooksOnly says that the run waited for live hooks and nothing else. If it is false, that is not known.
	HooksOnly bool
	// At is when the log was read, or a little earlier, by the clock of this process. The zero value means that it is not known.
	At time.Time
}

// IdleStore is what recovery needs of a store in addition to the contract.
type IdleStore interface {
	// DueRuns returns up to n runs that were entered at or before a timestamp, the oldest first, after skipping the
	// first skip of them. It repairs what a crash left of such a run, and removes runs that have ended.
	DueRuns(ctx context.Context, before Millis, skip, n int) (DueRuns, error)
	// LookNext sets when runs are checked next. A run that was entered again since it was read keeps its new place.
	LookNext(ctx context.Context, next []NextLook) error
	// RunsIdle returns the RunIdle of each run, in the order of the ids. Its cost does not depend on the length of
	// the log.
	RunsIdle(ctx context.Context, runIDs []string) ([]RunIdle, error)
	// MarkIdle records that a run whose log has this many events needs no wake-up. It does nothing if the log has
	// grown since.
	MarkIdle(ctx context.Context, runID string, events int64) error
	// NoteWake records that a run whose log has this many events was woken, and under which masters of Redis. It does
	// nothing if the log has grown since. A later MarkIdle or NoteWake replaces the note.
	NoteWake(ctx context.Context, runID string, events int64, masters string) error
	// MastersSince returns since when the masters of Redis are the given ones, as far as its callers have noticed:
	// 0 if they have never given it others.
	MastersSince(ctx context.Context, masters string) (Millis, error)
}

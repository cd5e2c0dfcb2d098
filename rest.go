package world

import "context"

// RunRest is what tells whether a run that no message will wake is at rest or forgotten.
type RunRest struct {
	Events int64  // in its log
	LastAt Millis // when the last of them was appended; 0: the run has none
	Hooks  bool   // it has a live hook
	Rested bool   // [RestStore.MarkRested] was called when the log had as many events
}

// RunLook is a run that it is time to look at.
type RunLook struct {
	RunID string
	Since Millis // what the store was told last, see [NextLook]
	Rest  RunRest
}

// NextLook says when a run is looked at next: when Since is as long ago as the caller of DueRuns waits. 0: no more.
type NextLook struct {
	Look  RunLook
	Since Millis
}

// DueRuns are runs that it is time to look at.
type DueRuns struct {
	Live []RunLook // that have not ended
	Left int       // entries that are due and must be looked at again later
	More bool      // there may be others
}

// LogSeen is what the log of a run was when a delivery for the run began.
type LogSeen struct {
	Events int64 // at least so many; 0: not known
	// HooksOnly says that the run waited for live hooks and for nothing else; false: it may be so.
	HooksOnly bool
}

// RestStore is what recovery needs of a store, besides the contract.
type RestStore interface {
	// DueRuns returns runs to look at that were entered at or before a moment, n at most, the oldest first, after passing over the
	// first skip of them. What a crash left of a run it mends on the way, and runs that have ended it takes off.
	DueRuns(ctx context.Context, before Millis, skip, n int) (DueRuns, error)
	// LookNext says when runs are looked at next. A run that was entered anew since it was read keeps its new place.
	LookNext(ctx context.Context, next []NextLook) error
	// RunsRest returns the rest of each run, in the order of the ids, at the same cost for
	// a long log as for a short one.
	RunsRest(ctx context.Context, runIDs []string) ([]RunRest, error)
	// MarkRested notes that a run whose log has so many events needs no wake-up. It does
	// nothing when the log has grown since.
	MarkRested(ctx context.Context, runID string, events int64) error
}

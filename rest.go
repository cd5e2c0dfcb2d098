package world

import (
	"context"
	"time"
)

// RunRest is what tells whether a run that no message will wake is at rest or forgotten.
type RunRest struct {
	Events int64  // in its log
	LastAt Millis // when the last of them was appended; 0: the run has none
	Hooks  bool   // it has a live hook
	Rested bool   // [RestStore.MarkRested] was called when the log had as many events
}

// RestStore is what recovery needs of a store, besides the contract.
type RestStore interface {
	// RunsRest returns the rest of each run, in the order of the ids, at the same cost for
	// a long log as for a short one.
	RunsRest(ctx context.Context, runIDs []string) ([]RunRest, error)
	// MarkRested notes that a run whose log has so many events needs no wake-up. It does
	// nothing when the log has grown since.
	MarkRested(ctx context.Context, runID string, events int64) error
	// Lead reports whether holder may do a piece of work that one process at a time should
	// do, for the time to come. While it asks again in time nobody else may.
	Lead(ctx context.Context, work, holder string, lease time.Duration) (bool, error)
}

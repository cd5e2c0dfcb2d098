package world

import "context"

// RunEnd says whether a run has ended, for whatever ends with it.
type RunEnd struct {
	At      Millis // when it ended; 0 if it has not
	Missing bool   // there is no such run
	Emptied bool   // it has ended and keeps nothing
}

// RunEnds reports when runs have ended.
type RunEnds interface {
	// RunEnds returns the RunEnd of each run, in the order of the ids. An id may be any string.
	RunEnds(ctx context.Context, runIDs []string) ([]RunEnd, error)
}

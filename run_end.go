package world

import "context"

// RunEnd tells whether a run is over, for what should end with it.
type RunEnd struct {
	At      Millis // when it ended; 0: it has not
	Missing bool   // there is no such run
	Emptied bool   // it has ended and keeps nothing
}

// RunEnds tells when runs end.
type RunEnds interface {
	// RunEnds returns the end of each run, in the order of the ids. An id may be any text.
	RunEnds(ctx context.Context, runIDs []string) ([]RunEnd, error)
}

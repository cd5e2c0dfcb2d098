package world

import "context"

// GoneRuns knows the runs that have been removed.
type GoneRuns interface {
	// WhyGone returns in a few words why a run does not exist and cannot be created: it has been removed, or its id is too old for
	// that to be known. The text is empty if the run exists, or may be created. An id may be any string.
	WhyGone(ctx context.Context, runID string) (string, error)
}

package world

import "context"

// RunRemover removes runs that have ended.
type RunRemover interface {
	// RemoveRun removes a run with its log, steps, hooks, streams and messages. From the moment it is out of sight no call finds
	// the run or creates it anew. It returns CodeRunNotFound if there is no such run, and CodeConflict if the run has not ended or
	// one of its hooks keeps its token (tokenRetentionUntil). A call that was interrupted may be repeated; the service completes
	// it in any case.
	RemoveRun(ctx context.Context, runID string) error
}

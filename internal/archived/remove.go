package archived

import (
	"context"

	"github.com/world-redis/world-redis"
)

// Remover removes runs from Redis and from the archive.
type Remover struct {
	world.RunRemover // from Redis
	Archive          world.Archive
}

// RemoveRun implements world.RunRemover. Redis decides whether the run may go; the archive follows, so a call that was interrupted
// is completed by the next one.
func (r Remover) RemoveRun(ctx context.Context, runID string) error {
	err := r.RunRemover.RemoveRun(ctx, runID)
	missing := world.ErrorCode(err) == world.CodeRunNotFound
	if err != nil && !missing {
		return err
	}
	if missing {
		runs, failed := r.Archive.GetRuns(ctx, []string{runID}, true)
		if failed != nil {
			return unavailable(ctx, failed)
		}
		if runs[0] == nil {
			return err
		}
	}
	if err := r.Archive.DeleteRuns(ctx, []string{runID}); err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

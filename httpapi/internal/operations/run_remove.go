package operations

import (
	"context"

	"github.com/world-redis/world-redis"
)

func (a *API) removeRun(ctx context.Context, runID string) (nothing, error) {
	if a.Deps.Remover == nil {
		return nothing{}, world.Errorf(world.CodeNotFound, "this service does not remove runs")
	}
	return nothing{}, a.Deps.Remover.RemoveRun(ctx, runID)
}

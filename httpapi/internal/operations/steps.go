package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *API) getStep(ctx context.Context, ref entityRef) (world.Step, error) {
	return a.Deps.Store.GetStep(ctx, ref.runID, ref.id, ref.none)
}

func decodeSteps(r *input.Request) (world.StepQuery, error) {
	want := world.StepQuery{RunID: r.PathID("runId"), Page: r.Page(), ResolveNone: r.ResolveNone()}
	return want, r.Err
}

func encodeStep(e *wire.Encoder, t world.Step) {
	e.Grow(wire.StepSize(&t) + 128)
	wire.Step(e, &t)
}

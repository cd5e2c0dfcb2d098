package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *api) getStep(ctx context.Context, ref entityRef) (world.Step, error) {
	return a.deps.Store.GetStep(ctx, ref.runID, ref.id, ref.none)
}

func decodeSteps(r *request) (world.StepQuery, error) {
	want := world.StepQuery{RunID: r.pathID("runId"), Page: r.page(), ResolveNone: r.resolveNone()}
	return want, r.err
}

func encodeStep(e *wire.Encoder, t world.Step) {
	e.Grow(wire.StepSize(&t) + 128)
	wire.Step(e, &t)
}

package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *api) getHook(ctx context.Context, ref entityRef) (world.Hook, error) {
	return a.deps.Store.GetHook(ctx, ref.id, ref.none)
}

// decodeToken reads which hook is asked for by its token, which takes the place of the id.
func decodeToken(r *request) (entityRef, error) {
	ref := entityRef{none: r.resolveNone(), id: r.query().Get("token")}
	if r.err == nil {
		r.err = checkText("token", ref.id, maxToken)
	}
	return ref, r.err
}

func (a *api) getHookByToken(ctx context.Context, ref entityRef) (world.Hook, error) {
	return a.deps.Store.GetHookByToken(ctx, ref.id, ref.none)
}

func decodeHooks(r *request) (world.HookQuery, error) {
	want := world.HookQuery{Page: r.page(), ResolveNone: r.resolveNone(), RunID: r.queryID("runId")}
	return want, r.err
}

func encodeHook(e *wire.Encoder, h world.Hook) {
	e.Grow(wire.HookSize(&h) + 128)
	wire.Hook(e, &h)
}

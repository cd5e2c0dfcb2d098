package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *API) getHook(ctx context.Context, ref entityRef) (world.Hook, error) {
	return a.Deps.Store.GetHook(ctx, ref.id, ref.none)
}

// decodeToken reads the token of a hook, in place of its id.
func decodeToken(r *input.Request) (entityRef, error) {
	ref := entityRef{none: r.ResolveNone(), id: r.Query().Get("token")}
	if r.Err == nil {
		r.Err = input.CheckText("token", ref.id, world.MaxToken)
	}
	return ref, r.Err
}

func (a *API) getHookByToken(ctx context.Context, ref entityRef) (world.Hook, error) {
	return a.Deps.Store.GetHookByToken(ctx, ref.id, ref.none)
}

func decodeHooks(r *input.Request) (world.HookQuery, error) {
	want := world.HookQuery{Page: r.Page(), ResolveNone: r.ResolveNone(), RunID: r.QueryID("runId")}
	return want, r.Err
}

func encodeHook(e *wire.Encoder, h world.Hook) {
	e.Grow(wire.HookSize(&h) + 128)
	wire.Hook(e, &h)
}

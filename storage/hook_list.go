package storage

import (
	"context"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// hookPlace is the score of a hook in the list of its run, "" if its id has no time. An SDK creates the hooks of a suspension
// all at once, and their calls arrive in any order. But their ids are ULIDs of one millisecond, which increase in the order in
// which the workflow asked for them.
func hookPlace(hookID string) string {
	ms, ok := ids.Time("hook_", hookID)
	if !ok {
		return ""
	}
	return strconv.FormatInt(int64(ms), 10)
}

// ListHooks implements world.HookStore.
func (s *Store) ListHooks(ctx context.Context, q world.HookQuery) (world.Page[world.Hook], error) {
	key := s.keys.hooksIndex()
	if q.RunID != "" {
		if err := world.CheckID("runId", q.RunID); err != nil {
			return world.Page[world.Hook]{}, err
		}
		key = s.keys.of(q.RunID).hooksOrder()
	}
	l := lister[foundHook]{
		store: s, scope: "hooks/" + q.RunID, order: world.Ascending, limit: 100,
		entries: func(after *paging.Place, order world.Order, n int) ([]paging.Place, error) {
			return paging.Entries(ctx, s.redis, key, after, order, n)
		},
		heads: func(entries []paging.Place) ([]*head[foundHook], error) {
			wanted := make([]record.Claim, len(entries))
			for i, e := range entries {
				wanted[i] = record.Claim{RunID: q.RunID, HookID: e.ID}
				if q.RunID == "" {
					wanted[i].RunID, wanted[i].HookID, _ = strings.Cut(e.ID, "/")
				}
			}
			return s.hookHeads(ctx, wanted, q.ResolveNone, false)
		},
	}
	found, err := l.page(ctx, q.Page)
	out := world.Page[world.Hook]{Data: make([]world.Hook, len(found.Data)), Cursor: found.Cursor, HasMore: found.HasMore}
	for i, f := range found.Data {
		out.Data[i] = f.hook
	}
	return out, err
}

package storage

import (
	"context"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// hookPlace is the score of a hook in the list of its run, "" if its id tells none. An SDK creates
// the hooks of a suspension all at once, and their calls arrive in any order; but their ids are
// ULIDs of one moment that grow in the order in which the workflow asked for them.
func hookPlace(hookID string) string {
	ms, ok := ids.Time("hook_", hookID)
	if !ok {
		return ""
	}
	return strconv.FormatInt(int64(ms), 10)
}

// ListHooks implements world.HookStore.
func (s *Store) ListHooks(ctx context.Context, q world.HookQuery) (world.Page[world.Hook], error) {
	if q.RunID != "" && !ids.Valid(q.RunID) {
		return world.Page[world.Hook]{}, badID("runId", q.RunID)
	}
	key := s.keys.hooksIndex()
	if q.RunID != "" {
		key = s.keys.of(q.RunID).hooksOrder()
	}
	l := lister[world.Hook]{
		scope: "hooks/" + q.RunID, order: world.Ascending, limit: 100,
		entries: func(after *place, order world.Order, n int) ([]place, error) {
			return s.entries(ctx, key, after, order, n)
		},
		load: func(entries []place) ([]*world.Hook, error) {
			wanted := make([]claim, len(entries))
			for i, e := range entries {
				wanted[i] = claim{runID: q.RunID, hookID: e.id}
				if q.RunID == "" {
					wanted[i].runID, wanted[i].hookID, _ = strings.Cut(e.id, "/")
				}
			}
			found, err := s.readHooks(ctx, wanted, q.ResolveNone)
			if err != nil {
				return nil, err
			}
			out := make([]*world.Hook, len(found))
			for i, f := range found {
				if f != nil {
					out[i] = &f.hook
				}
			}
			return out, nil
		},
	}
	return l.page(q.Page)
}

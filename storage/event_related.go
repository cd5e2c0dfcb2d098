package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// listRelated reads a page of one entity's events.
func (s *Store) listRelated(ctx context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	out := world.Page[world.Event]{Data: []world.Event{}}
	if !ids.Valid(q.CorrelationID) {
		return out, badID("correlationId", q.CorrelationID)
	}
	if q.RunID == "" {
		located, err := s.locate(ctx, q.CorrelationID)
		if err != nil || located == "" {
			return out, err
		}
		q.RunID = located
	}
	if !ids.Valid(q.RunID) {
		return out, badID("runId", q.RunID)
	}
	scope := eventScope(q.RunID, q.CorrelationID)
	after := -1
	if q.Page.Cursor != "" {
		var err error
		if after, err = openEventCursor(scope, q.Page.Cursor); err != nil {
			return out, err
		}
	}
	keys := s.keys.of(q.RunID)
	r, err := s.scripts.eventRelated.Run(ctx, s.redis, []string{keys.run(), keys.events(), keys.related()},
		q.CorrelationID, after, limitOf(q.Page.Limit, relatedLimit), flag(q.Page.Order == world.Descending), maxPageBytes, want(q.ResolveNone))
	if err != nil {
		return out, fail(err)
	}
	answer := reply(r)
	flat := answer.list(2)
	for i := 0; i+2 < len(flat); i += fieldsARelation {
		e, err := decodeRecord(q.RunID, flat.number(i), flat.text(i+1), flat.bytes(i+2))
		if err != nil {
			return out, fail(err)
		}
		out.Data = append(out.Data, e)
		out.Cursor = eventCursor(scope, flat.number(i))
	}
	out.HasMore = answer.number(1) == 1
	return out, nil
}

package storage

import (
	"context"

	"github.com/world-redis/world-redis"
)

// listRelated reads a page of one entity's events.
func (s *Store) listRelated(ctx context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	out := world.Page[world.Event]{Data: []world.Event{}}
	if !world.ValidID(q.CorrelationID) {
		return out, badID("correlationId", q.CorrelationID)
	}
	if q.RunID == "" {
		located, err := s.locate(ctx, q.CorrelationID)
		if err != nil || located == "" {
			return out, err
		}
		q.RunID = located
	}
	if !world.ValidID(q.RunID) {
		return out, badID("runId", q.RunID)
	}
	scope := eventScope(q.RunID, q.CorrelationID)
	after := -1
	if q.Page.Cursor != "" {
		last, err := openEventCursor(scope, q.Page.Cursor)
		if err != nil {
			return out, err
		}
		after = last.Position
	}
	keys, limit := s.keys.of(q.RunID), limitOf(q.Page.Limit, relatedLimit)
	for bytes := 0; ; {
		count := min(relatedChunk, limit-len(out.Data))
		r, err := s.scripts.eventRelated.Run(ctx, s.redis, []string{keys.run(), keys.events(), keys.related()}, q.CorrelationID, after, count,
			flag(q.Page.Order == world.Descending), pageBytes-bytes, flag(bytes == 0), want(q.ResolveNone), portionBytes)
		if err != nil {
			return out, fail(err)
		}
		answer := reply(r)
		flat := answer.list(2)
		var m measure
		m.refs(keys.events(), flat)
		if err := s.fill(ctx, m.gaps); err != nil {
			return out, err
		}
		bytes += m.bytes
		for i := 0; i+2 < len(flat); i += fieldsARelation {
			e, err := decodeRecord(q.RunID, flat.number(i), flat.text(i+1), flat.bytes(i+2))
			if err != nil {
				return out, fail(err)
			}
			if q.ResolveNone {
				e = withoutPayload(e)
			}
			out.Data = append(out.Data, e)
			after = flat.number(i)
			out.Cursor = eventCursor(scope, after)
		}
		out.HasMore = answer.number(1) == 1
		if !out.HasMore || len(out.Data) >= limit || len(flat) < count*fieldsARelation {
			return out, nil
		}
	}
}

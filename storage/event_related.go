package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// listRelated reads a page of one entity's events.
func (s *Store) listRelated(ctx context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	out := world.Page[world.Event]{Data: []world.Event{}}
	if err := world.CheckID("correlationId", q.CorrelationID); err != nil {
		return out, err
	}
	if q.RunID == "" {
		located, err := s.locate(ctx, q.CorrelationID)
		if err != nil || located == "" {
			return out, err
		}
		q.RunID = located
	}
	if err := world.CheckID("runId", q.RunID); err != nil {
		return out, err
	}
	scope := paging.EventScope(q.RunID, q.CorrelationID)
	after := -1
	if q.Page.Cursor != "" {
		last, err := paging.OpenEventCursor(scope, q.Page.Cursor)
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
		answer := record.Reply(r)
		flat := answer.List(2)
		var m measure
		m.refs(keys.events(), flat)
		if err := s.fill(ctx, m.gaps); err != nil {
			return out, err
		}
		bytes += m.bytes
		for i := 0; i+2 < len(flat); i += record.FieldsARelation {
			e, err := record.Decode(q.RunID, flat.Number(i), flat.Text(i+1), flat.Bytes(i+2))
			if err != nil {
				return out, fail(err)
			}
			if q.ResolveNone {
				e = withoutPayload(e)
			}
			out.Data = append(out.Data, e)
			after = flat.Number(i)
			out.Cursor = paging.EventCursor(scope, after)
		}
		out.HasMore = answer.Number(1) == 1
		if !out.HasMore || len(out.Data) >= limit || len(flat) < count*record.FieldsARelation {
			return out, nil
		}
	}
}

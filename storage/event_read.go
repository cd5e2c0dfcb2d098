package storage

import (
	"context"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

const (
	pageChunk     = 500 // events a script call reads, so that Redis is not held up
	maxLimit      = world.MaxPage
	relatedLimit  = 100 // default of lists by correlation id
	relatedChunk  = 400 // that a script call reads of them, by their keys one by one
	maxTotalPages = 1 << 30
	fieldsAnEvent = 2 // record, payload
)

// GetEvent implements world.EventStore.
func (s *Store) GetEvent(ctx context.Context, runID, eventID string, resolveNone bool) (world.Event, error) {
	if err := world.CheckID("runId", runID); err != nil {
		return world.Event{}, err
	}
	if err := world.CheckID("eventId", eventID); err != nil {
		return world.Event{}, err
	}
	missing := world.Errorf(world.CodeEventNotFound, "Event %q not found", eventID)
	position, ok := record.PositionOf(eventID)
	if !ok {
		return world.Event{}, missing
	}
	keys := s.keys.of(runID)
	r, err := s.scripts.eventRead.Run(ctx, s.redis, []string{keys.run(), keys.events()}, position, want(resolveNone), roomOf(1))
	if err != nil {
		return world.Event{}, fail(err)
	}
	answer := record.Reply(r)
	code, err := answer.Code()
	if err != nil {
		return world.Event{}, fail(err)
	}
	if code != codeDone {
		return world.Event{}, missing
	}
	var m measure
	m.record(s.keys.of(runID).events(), func() string { return strconv.Itoa(position) }, answer, 1)
	if err := s.fill(ctx, m.gaps); err != nil {
		return world.Event{}, err
	}
	e, err := record.Decode(runID, position, answer.Text(1), answer.Bytes(2))
	if err == nil && e.EventID != eventID {
		return world.Event{}, missing
	}
	if resolveNone {
		e = withoutPayload(e)
	}
	return e, fail(err)
}

// ListEvents implements world.EventStore.
func (s *Store) ListEvents(ctx context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	if q.CorrelationID != "" {
		return s.listRelated(ctx, q)
	}
	if err := world.CheckID("runId", q.RunID); err != nil {
		return world.Page[world.Event]{}, err
	}
	walk := logWalk{store: s, q: q, scope: paging.EventScope(q.RunID, "")}
	return walk.page(ctx)
}

// logWalk reads one page of a log in chunks.
type logWalk struct {
	store *Store
	q     world.EventQuery
	scope string
}

func (w logWalk) page(ctx context.Context) (world.Page[world.Event], error) {
	var out world.Page[world.Event]
	backwards := w.q.Page.Order == world.Descending
	step, next, after := 1, 0, ""
	if backwards {
		step, next = -1, -1 // from the end, wherever that is
	}
	if w.q.Page.Cursor != "" {
		last, err := paging.OpenEventCursor(w.scope, w.q.Page.Cursor)
		if err != nil {
			return out, err
		}
		if next = last.Position + step; next < 0 {
			return world.Page[world.Event]{Data: []world.Event{}}, nil // the first event was on the page before
		}
		after = endText(last)
	}
	limit := limitOf(w.q.Page.Limit, maxTotalPages)
	out.Data = []world.Event{}
	for bytes := 0; len(out.Data) < limit; {
		chunk, err := w.chunk(ctx, next, min(pageChunk, limit-len(out.Data)), pageBytes-bytes, after)
		if err != nil {
			return world.Page[world.Event]{}, err
		}
		if len(chunk.events) == 0 {
			break
		}
		out.Data = append(out.Data, chunk.events...)
		bytes += chunk.bytes
		last := chunk.first + step*(len(chunk.events)-1)
		out.Cursor, next = paging.LogCursor(w.scope, last, chunk.events[len(chunk.events)-1].CreatedAt), last+step
		after = "" // the next chunk follows an event that was just read
		out.HasMore = next >= 0 && next < chunk.total
		if !out.HasMore || bytes >= pageBytes || chunk.cut {
			break
		}
	}
	return out, nil
}

type logChunk struct {
	events              []world.Event
	total, first, bytes int
	cut                 bool // ended by its size
}

// chunk reads up to count events from position first on. Only the first chunk of a page may exceed the size left, and only by
// its first event, so no page is empty because of its size. after is the last event that the caller has, see endText; "" for
// none.
func (w logWalk) chunk(ctx context.Context, first, count, maxBytes int, after string) (logChunk, error) {
	keys := w.store.keys.of(w.q.RunID)
	backwards := w.q.Page.Order == world.Descending
	r, err := w.store.scripts.eventPage.Run(ctx, w.store.redis, []string{keys.run(), keys.events()},
		first, count, flag(backwards), maxBytes, flag(maxBytes == pageBytes), want(w.q.ResolveNone), after)
	if err != nil {
		return logChunk{}, w.store.failIn(ctx, w.q.RunID, err)
	}
	answer := record.Reply(r)
	if code, err := answer.Code(); err != nil || code != codeDone {
		if code == codeEventMissing {
			return logChunk{}, world.Errorf(world.CodeInvalid, "The log no longer has the event of the cursor; list it from the beginning")
		}
		return logChunk{}, fail(err)
	}
	c := logChunk{total: answer.Number(1), first: answer.Number(2)}
	flat := answer.List(3)
	step := 1
	if backwards {
		step = -1
	}
	if c.bytes, err = w.store.fillLog(ctx, w.q.RunID, c.first, step, flat); err != nil {
		return logChunk{}, err
	}
	if c.events, err = decodeEvents(w.q.RunID, c.first, step, w.q.ResolveNone, flat); err != nil {
		return logChunk{}, fail(err)
	}
	left := c.total - c.first
	if backwards {
		left = c.first + 1
	}
	c.cut = len(c.events) < min(count, left)
	return c, nil
}

// fillLog reads the values that {record, payload or nil, ...} of the events from position first on has only the lengths of. It
// returns how many bytes all of it takes.
func (s *Store) fillLog(ctx context.Context, runID string, first, step int, flat record.Reply) (bytes int, err error) {
	var m measure
	m.log(s.keys.of(runID).events(), first, step, flat)
	return m.bytes, s.fill(ctx, m.gaps)
}

// fillDone is fillLog for a call that is already applied. If there is no memory for these events, the list ends before the
// first that is missing, and the caller can list the rest.
func (s *Store) fillDone(ctx context.Context, runID string, first int, flat record.Reply) (record.Reply, error) {
	_, err := s.fillLog(ctx, runID, first, 1, flat)
	if world.ErrorCode(err) != world.CodeOverBudget {
		return flat, err
	}
	for i, value := range flat {
		if _, missing := value.(int64); missing {
			return flat[:i-i%fieldsAnEvent], nil
		}
	}
	return flat, nil
}

// decodeEvents reads {record, payload or nil, ...} of the events from position first on; step is 1, or -1 backwards.
func decodeEvents(runID string, first, step int, resolveNone bool, flat record.Reply) ([]world.Event, error) {
	out := make([]world.Event, 0, len(flat)/fieldsAnEvent)
	for i := 0; i+1 < len(flat); i += fieldsAnEvent {
		e, err := record.Decode(runID, first+step*len(out), flat.Text(i), flat.Bytes(i+1))
		if err != nil {
			return nil, err
		}
		if resolveNone {
			e = withoutPayload(e) // one that did not fit into the script's reply was read whole
		}
		out = append(out, e)
	}
	return out, nil
}

// limitOf returns a page's limit: the default for 0, and at most maxLimit when one is asked for.
func limitOf(asked, otherwise int) int {
	if asked <= 0 {
		return otherwise
	}
	return min(asked, maxLimit)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

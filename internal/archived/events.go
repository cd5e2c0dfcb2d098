package archived

import (
	"context"
	"math"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cursor"
	"github.com/world-redis/world-redis/internal/ids"
)

const (
	relatedLimit = 100 // default of lists by correlation id, as in storage
	noLimit      = 1 << 30
)

// GetEvent implements world.EventStore.
func (s *Store) GetEvent(ctx context.Context, runID, eventID string, resolveNone bool) (world.Event, error) {
	event, err := s.Store.GetEvent(ctx, runID, eventID, resolveNone)
	if world.ErrorCode(err) != world.CodeEventNotFound {
		return event, err
	}
	run, failed := s.left(ctx, runID)
	if failed != nil {
		return event, failed
	}
	if run == nil {
		return event, err
	}
	position, isEvent := ids.EventPosition(eventID)
	if !isEvent {
		return event, err
	}
	found, failed := s.eventAt(ctx, runID, int64(position), resolveNone, err)
	if failed == nil && found.EventID != eventID {
		failed = err
	}
	return found, failed
}

// eventAt returns the event at a position of the log.
func (s *Store) eventAt(ctx context.Context, runID string, position int64, resolveNone bool, missing error) (world.Event, error) {
	for part, err := range s.Archive.Parts(ctx, runID, world.ArchivedParts{Kind: world.PartEvents, From: position, ResolveNone: resolveNone}) {
		if err != nil {
			return world.Event{}, unavailable(ctx, err)
		}
		return *part.Event, world.MakeRoom(ctx, eventBytes(part.Event))
	}
	return world.Event{}, missing
}

func eventBytes(e *world.Event) int64 {
	bytes := 0
	for _, f := range e.Data {
		bytes += len(f.Value)
	}
	return int64(bytes)
}

// ListEvents implements world.EventStore. An unknown run has an empty log, so an empty page may be one of an archived run.
func (s *Store) ListEvents(ctx context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	page, err := s.Store.ListEvents(ctx, q)
	lost := world.ErrorCode(err) == world.CodeInvalid && q.Page.Cursor != "" // with the run, the event of the cursor has gone
	if err != nil && !lost || len(page.Data) > 0 || page.HasMore {
		return page, err
	}
	if q.RunID == "" {
		located, failed := s.Archive.FindStep(ctx, q.CorrelationID)
		if failed != nil {
			return page, unavailable(ctx, failed)
		}
		if located == "" {
			return page, err
		}
		q.RunID = located
	}
	run, failed := s.left(ctx, q.RunID)
	switch {
	case failed != nil:
		return page, failed
	case run == nil:
		return page, err
	case q.CorrelationID != "":
		return s.listRelated(ctx, q)
	default:
		return s.listLog(ctx, q)
	}
}

// listLog reads a page of an archived log.
func (s *Store) listLog(ctx context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	scope := cursor.EventScope(q.RunID, "")
	limit := noLimit
	if q.Page.Limit > 0 {
		limit = min(q.Page.Limit, world.MaxPage)
	}
	w := logWalk{store: s, q: q, scope: scope, limit: limit}
	end, err := w.start()
	if err != nil || w.from < 0 {
		return world.Page[world.Event]{Data: []world.Event{}}, err
	}
	if q.Page.Cursor != "" && end.CreatedAt != 0 {
		last, err := s.eventAt(ctx, q.RunID, int64(end.Position), true, gone())
		if err != nil {
			return world.Page[world.Event]{}, err
		}
		if last.CreatedAt != end.CreatedAt {
			return world.Page[world.Event]{}, gone()
		}
	}
	return w.page(ctx, func(world.Event) bool { return true }, cursor.LogCursor)
}

func gone() error {
	return world.Errorf(world.CodeInvalid, "The log no longer has the event of the cursor; list it from the beginning")
}

// listRelated reads a page of one entity's events.
func (s *Store) listRelated(ctx context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	scope := cursor.EventScope(q.RunID, q.CorrelationID)
	limit := relatedLimit
	if q.Page.Limit > 0 {
		limit = min(q.Page.Limit, world.MaxPage)
	}
	w := logWalk{store: s, q: q, scope: scope, limit: limit}
	if _, err := w.start(); err != nil || w.from < 0 {
		return world.Page[world.Event]{Data: []world.Event{}}, err
	}
	return w.page(ctx, func(e world.Event) bool { return e.CorrelationID == q.CorrelationID }, func(scope string, position int, _ world.Millis) string {
		return cursor.EventCursor(scope, position)
	})
}

// logWalk reads one page of an archived log.
type logWalk struct {
	store *Store
	q     world.EventQuery
	scope string
	limit int
	from  int64
}

// start sets the first position, which is negative if there is none, and returns what the cursor says.
func (w *logWalk) start() (end world.LogEnd, err error) {
	backwards := w.q.Page.Order == world.Descending
	if w.q.Page.Cursor == "" {
		if backwards {
			w.from = math.MaxInt64
		}
		return end, nil
	}
	if end, err = cursor.OpenEventCursor(w.scope, w.q.Page.Cursor); err != nil {
		return end, err
	}
	if w.from = int64(end.Position) + 1; backwards {
		w.from -= 2
	}
	return end, nil
}

func (w *logWalk) page(ctx context.Context, is func(world.Event) bool, place func(scope string, position int, created world.Millis) string) (world.Page[world.Event], error) {
	backwards := w.q.Page.Order == world.Descending
	fill := filler[world.Event]{ctx: ctx, limit: w.limit, page: world.Page[world.Event]{Data: []world.Event{}}}
	want := world.ArchivedParts{Kind: world.PartEvents, From: w.from, Backwards: backwards, ResolveNone: w.q.ResolveNone}
	for part, err := range w.store.Archive.Parts(ctx, w.q.RunID, want) {
		if err != nil {
			return world.Page[world.Event]{}, unavailable(ctx, err)
		}
		if !is(*part.Event) {
			continue
		}
		full, err := fill.add(*part.Event, eventBytes(part.Event), func() string {
			at, _ := ids.EventPosition(part.Event.EventID)
			return place(w.scope, at, part.Event.CreatedAt)
		})
		if full || err != nil {
			return fill.page, err
		}
	}
	return fill.page, nil
}

package storage

import (
	"context"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
)

// withDelta adds to the answer what the caller's copy of the log lacks (contract §3.8): all
// that comes after SinceCursor, the new event included; or, when it says how many slots it
// knows, what came between those and the new event. The event is committed by now, so nothing
// here may fail the call: without a delta the caller reads the log itself.
func (s *Store) withDelta(ctx context.Context, req world.CreateEvent, r world.EventResult) world.EventResult {
	if r.Event == nil || r.Events != nil {
		return r
	}
	slot := slotOf(r.Event.EventID)
	scope := eventScope(r.Event.RunID, "")
	switch {
	case req.SinceCursor != "":
		last, err := openEventCursor(scope, req.SinceCursor)
		if err != nil {
			return r // not a cursor of this log: the caller starts from the beginning
		}
		if last+2 == slot { // nobody wrote in between
			r.Events, r.Cursor = []world.Event{*r.Event}, eventCursor(scope, slot-1)
			return r
		}
		page, err := s.ListEvents(ctx, world.EventQuery{
			RunID: r.Event.RunID, ResolveNone: req.ResolveNone, Page: world.PageRequest{Cursor: req.SinceCursor},
		})
		if err == nil {
			r.Events, r.Cursor, r.HasMore = page.Data, page.Cursor, page.HasMore
		}
	case req.EventCount != nil && *req.EventCount >= 1 && int64(slot) > *req.EventCount+1:
		known := int(*req.EventCount)
		page, err := s.ListEvents(ctx, world.EventQuery{
			RunID: r.Event.RunID, ResolveNone: req.ResolveNone, Page: world.PageRequest{Cursor: eventCursor(scope, known-1)},
		})
		if err == nil {
			r.Events = page.Data[:min(len(page.Data), slot-known-1)]
			r.HasMore = len(r.Events) < slot-known-1
			// No cursor: this is a report about the gap, not a page that was read to its end.
		}
	}
	return r
}

// slotOf returns the slot that an event id of spec 6 and up stands for, 0 for other ids.
func slotOf(eventID string) int {
	digits, ok := strings.CutPrefix(eventID, "evnt_")
	if !ok {
		return 0
	}
	slot, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return slot
}

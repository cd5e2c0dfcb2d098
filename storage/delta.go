package storage

import (
	"context"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// question is which events a caller wants to get besides its own (contract §3.8). The script that appends answers it, so nothing
// can be appended between the two (lua/lib/event.lua).
type question struct {
	kind  byte // 'a': all events after a position; 'b': those between it and the caller's own event; 0: none
	after int
}

// questionOf reads the question off a request whose cursor has been checked.
func questionOf(req world.CreateEvent) question {
	switch {
	case req.Type == world.EventHookReceived && req.PreloadEvents:
		return question{kind: 'a', after: -1}
	case req.SinceCursor != "":
		last, err := paging.OpenEventCursor(paging.EventScope(req.RunID, ""), req.SinceCursor)
		if err == nil {
			return question{kind: 'a', after: last.Position}
		}
	case req.EventCount != nil && *req.EventCount >= 1 && *req.EventCount < maxTotalEvents:
		return question{kind: 'b', after: int(*req.EventCount) - 1} // slots count from 1
	}
	return question{}
}

// maxTotalEvents is more events than any log has.
const maxTotalEvents = 1 << 30

func (q question) String() string {
	if q.kind == 0 {
		return ""
	}
	return string(q.kind) + strconv.Itoa(q.after)
}

// delta is the answer to a question: the events that the caller lacks.
type delta struct {
	events  []world.Event // nil: there is nothing to add
	cursor  string
	hasMore bool
}

// readDelta reads the delta in the answer of a script: {count, record, payload, ...}.
func (c *call) readDelta(o scriptOutcome, answered record.Reply) error {
	if c.asked.kind == 0 || answered == nil {
		return nil
	}
	events, err := decodeEvents(c.req.RunID, c.asked.after+1, 1, c.req.ResolveNone, answered.After(1))
	if err != nil {
		return err
	}
	complete := len(events) == answered.Number(0)
	if !complete && (c.req.PreloadEvents || len(events) == 0) {
		return nil // half a log is of no use, and the caller can list the events
	}
	if c.asked.kind == 'b' {
		if answered.Number(0) > 0 && record.HasSlotID(o.stored.Event.EventID) {
			*c.delta = delta{events: events, hasMore: !complete}
		}
		return nil
	}
	last := c.asked.after + len(events)
	// The script leaves out the caller's own event, which is here already.
	if own := record.Int(o.stored.Position); complete && own == last+1 {
		events, last = append(events, *c.answer(o.stored.Event)), own
	}
	*c.delta = delta{events: events, hasMore: !complete, cursor: c.req.SinceCursor}
	if n := len(events); n > 0 {
		c.delta.cursor = paging.LogCursor(paging.EventScope(c.req.RunID, ""), last, events[n-1].CreatedAt)
	}
	return nil
}

// fillDelta reads the values of which the delta of a reply has only the lengths.
func (s *Store) fillDelta(ctx context.Context, c *call, r record.Reply) error {
	if c.asked.kind == 0 {
		return nil
	}
	code, err := r.Code()
	if err != nil || code < 0 {
		return nil //nolint:nilerr // the caller reports it
	}
	at, ok := map[int]int{codeDone: 3, codeReplayed: 5, codeRecorded: 5, codeUnchanged: 1}[code]
	if !ok {
		return nil
	}
	answered := r.List(at)
	if len(answered) == 0 {
		return nil
	}
	filled, err := s.fillDone(ctx, c.req.RunID, c.asked.after+1, answered.After(1))
	r[at] = []any(answered[:1+len(filled)])
	return err
}

// addTo adds the delta to an answer.
func (d *delta) addTo(result *world.EventResult) {
	if d.events != nil {
		result.Events, result.Cursor, result.HasMore = d.events, d.cursor, d.hasMore
	}
}

package storage

import (
	"context"
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// call is one CreateEvent on its way to a script.
type call struct {
	req     world.CreateEvent
	event   world.Event // as it will be stored, but for id and time
	keys    runKeys
	now     world.Millis
	dials   uint64        // connections to Redis that were opened before it
	request string        // what the request id is remembered as
	asked   question      // which events the caller wants besides its own (delta.go)
	end     *world.LogEnd // the last event that the caller has got (log_end.go); nil: it does not say
	delta   *delta        // the answer to asked: the events that the caller lacks; readDelta fills it, answerOf adds it to the result
}

// requestBytes is how many bytes of the hash of a request id are kept. There is one hash an event, so it is short, but long
// enough that two calls to one run within twenty minutes never collide by chance.
const requestBytes = 10

// newCall prepares a validated request.
func (s *Store) newCall(req world.CreateEvent) *call {
	if req.RequestID == "" {
		req.RequestID = s.ids.New().String() // covers go-redis sending the script twice
	}
	c := &call{
		req: req, keys: s.keys.of(req.RunID), now: s.now(), dials: s.dials(), asked: questionOf(req),
		end: endOf(req), event: eventOf(req),
	}
	// The same request id for another event of the run is another call, so the hash covers both.
	sum := sha256.Sum256([]byte(req.RequestID + "\x00" + string(req.Type) + "\x00" + req.CorrelationID))
	c.request = string(sum[:requestBytes])
	c.delta = &delta{}
	return c
}

// eventOf is the event that a request asks for.
func eventOf(req world.CreateEvent) world.Event {
	return world.Event{
		RunID: req.RunID, Type: req.Type, CorrelationID: req.CorrelationID, SpecVersion: req.SpecVersion,
		OccurredAt: req.OccurredAt, ResumeID: req.ResumeID, Data: req.Data,
	}
}

func (c *call) want() string { return want(c.req.ResolveNone) }

func want(resolveNone bool) string {
	if resolveNone {
		return "none"
	}
	return "all"
}

// scriptOutcome is what an event script answered when it did not refuse.
type scriptOutcome struct {
	code   int
	stored record.Stored
	rest   record.Reply // from the element after the event on
}

// input returns the keys and arguments that every event script begins with (lua/lib/event.lua).
func (c *call) input(keys []string, args []any) ([]string, []any, error) {
	encoded, split, err := record.Encode(c.event)
	if err != nil {
		return nil, nil, err
	}
	all := append(make([]any, 0, 7+len(args)),
		c.request, strconv.FormatInt(int64(c.now), 10), c.event.CorrelationID, encoded, split, c.want(), c.known())
	return append(c.keys.event(c.now), keys...), append(all, args...), nil
}

// apply runs an event script and returns its outcome, or its refusal as an error.
func (s *Store) apply(ctx context.Context, c *call, script script, keys []string, args ...any) (scriptOutcome, error) {
	return s.applyAfter(ctx, c, nil, script, keys, args...)
}

// applyAfter is apply with other commands before the script, if front is not nil.
func (s *Store) applyAfter(ctx context.Context, c *call, front func(redis.Pipeliner), script script, keys []string, args ...any) (scriptOutcome, error) {
	keys, args, err := c.input(keys, args)
	if err != nil {
		return scriptOutcome{}, fail(err)
	}
	r, err := s.send.RunAfter(ctx, front, script, keys, args...)
	return s.readOutcome(ctx, c, r, err)
}

// readOutcome reads the answer of an event script. In a large delta the script leaves out values, and these are read here (delta.go).
func (s *Store) readOutcome(ctx context.Context, c *call, r record.Reply, err error) (scriptOutcome, error) {
	if err != nil {
		return scriptOutcome{}, s.failIn(ctx, c.req.RunID, err)
	}
	filled := s.fillDelta(ctx, c, r)
	o, err := c.decodeOutcome(r)
	if err == nil {
		err = filled
	}
	return o, err
}

func (c *call) decodeOutcome(r record.Reply) (scriptOutcome, error) {
	code, err := r.Code()
	if err != nil {
		return scriptOutcome{}, fail(err)
	}
	o := scriptOutcome{code: code}
	if code < 0 {
		return o, refusal(c.req, c.now, code, r)
	}
	switch code {
	case codeDone:
		e := c.event
		created, isSlot := strings.CutSuffix(r.Text(1), ".")
		e.CreatedAt = world.Millis(record.Int(created))
		e.EventID = record.EventID(c.req.RunID, e.CreatedAt, r.Number(2), isSlot)
		o.stored = record.Stored{Event: e, Position: r.Text(2)}
		o.rest = r.After(4)
	case codeReplayed, codeRecorded:
		e, err := record.Decode(c.req.RunID, r.Number(3), r.Text(1), r.Bytes(2))
		if err != nil {
			return scriptOutcome{}, fail(err)
		}
		o.stored = record.Stored{Event: e, Position: r.Text(3), Note: r.Number(4), Replayed: true}
		o.rest = r.After(6)
	case codeUnchanged:
		o.rest = r.After(2)
	}
	return o, fail(c.readDelta(o, r.List(len(r)-len(o.rest)-1)))
}

// own returns the event if the script left it out of the entity, as it does for an event that it has just appended.
func (o scriptOutcome) own() *record.Stored {
	if o.stored.Replayed || o.code != codeDone {
		return nil
	}
	return &o.stored
}

// answer returns the event as the caller asked for it.
func (c *call) answer(e world.Event) *world.Event {
	if c.req.ResolveNone {
		e = withoutPayload(e)
	}
	return &e
}

// withoutPayload applies resolveData 'none'; data without any entry is dropped.
func withoutPayload(e world.Event) world.Event {
	key := e.Type.PayloadKey()
	if key == "" || !e.Data.Has(key) {
		return e
	}
	e.Data = e.Data.Without(key)
	if len(e.Data) == 0 {
		e.Data = nil
	}
	return e
}

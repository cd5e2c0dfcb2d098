package storage

import (
	"strconv"

	"github.com/world-redis/world-redis"
)

// entity is a decoded entity of a script's reply: a hash and the events it points to.
type entity struct {
	runID  string
	fields map[string]string
	events map[string]world.Event // by position
}

// decodeEntity reads the reply of tell() and entity() in lua/lib/entity.lua. own is the event that the
// script was told to leave out.
func decodeEntity(runID string, r reply, own *stored) (entity, error) {
	e := newEntity(runID)
	i := 0
	for ; i+1 < len(r); i += 2 {
		name := r.text(i)
		if name != "" && name[0] <= '9' && name[0] >= '0' {
			break // from here on events
		}
		e.fields[name] = r.text(i + 1)
	}
	return e, e.refer(r.after(i), own)
}

func newEntity(runID string) entity {
	return entity{runID: runID, fields: make(map[string]string, len(stepFields)), events: make(map[string]world.Event, 2)}
}

// refer reads {position, record, payload, ...} of the events that an entity points to.
func (e entity) refer(refs reply, own *stored) error {
	for i := 0; i+2 < len(refs); i += fieldsARelation {
		event, err := decodeRecord(e.runID, refs.number(i), refs.text(i+1), refs.bytes(i+2))
		if err != nil {
			return err
		}
		e.events[refs.text(i)] = event
	}
	if own != nil {
		e.events[own.position] = own.event
	}
	return nil
}

func (e entity) ms(field string) world.Millis {
	n, err := strconv.ParseInt(e.fields[field], 10, 64)
	if err != nil {
		return 0 // absent
	}
	return world.Millis(n)
}

func (e entity) int(field string) int { return int(e.ms(field)) }

// event returns the event that a reference field points to; a zero one when it was not read.
func (e entity) event(field string) world.Event { return e.events[e.fields[field]] }

// before reports whether the event of a reference field stands before position in the log.
func (e entity) before(field string, position int) bool {
	p, ok := e.fields[field]
	return ok && atoi(p) <= position
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// stored is an event as it stands in the log.
type stored struct {
	event    world.Event
	position string
	note     int  // attempt, with replayed step events
	replayed bool // applied by an earlier call with the same request id
}

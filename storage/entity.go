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

// decodeEntity reads the reply of entity() in lua/lib/entity.lua. own is the event that the
// script was told to leave out.
func decodeEntity(runID string, r reply, own *stored) (entity, error) {
	flat, refs := r.list(0), r.list(1)
	e := entity{runID: runID, fields: make(map[string]string, len(flat)/2), events: make(map[string]world.Event, len(refs)/4+1)}
	for i := 0; i+1 < len(flat); i += 2 {
		e.fields[flat.text(i)] = flat.text(i + 1)
	}
	for i := 0; i+3 < len(refs); i += 4 {
		event, err := decodeRecord(runID, refs.text(i+1), refs.text(i+2), refs.bytes(i+3))
		if err != nil {
			return e, err
		}
		e.events[refs.text(i)] = event
	}
	if own != nil {
		e.events[own.position] = own.event
	}
	return e, nil
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

package storage

import (
	"strconv"

	"github.com/world-redis/world-redis"
)

// entity is a decoded entity of a script's reply: a hash and the events it points to.
type entity struct {
	runID  string
	fields reply         // name, value, …; a value of nil: the field is gone
	events []placedEvent // that the fields point to
}

type placedEvent struct {
	position string
	event    world.Event
}

// decodeEntity reads the reply of tell() and entity() in lua/lib/entity.lua. own is the event that the
// script was told to leave out.
func decodeEntity(runID string, r reply, own *stored) (entity, error) {
	i := fieldsOf(r)
	e := entity{runID: runID, fields: r[:i:i]}
	err := e.refer(r.after(i), own)
	return e, err
}

// fieldsOf returns how many elements of such a reply are fields; from there on it tells events.
func fieldsOf(r reply) int {
	i := 0
	for ; i+1 < len(r); i += 2 {
		if name := r.text(i); name != "" && name[0] <= '9' && name[0] >= '0' {
			break
		}
	}
	return i
}

// refer reads {position, record, payload, ...} of the events that an entity points to.
func (e *entity) refer(refs reply, own *stored) error {
	e.events = make([]placedEvent, 0, len(refs)/fieldsARelation+1)
	for i := 0; i+2 < len(refs); i += fieldsARelation {
		if refs[i+1] == nil {
			continue // gone since the script had its length
		}
		event, err := decodeRecord(e.runID, refs.number(i), refs.text(i+1), refs.bytes(i+2))
		if err != nil {
			return err
		}
		e.place(refs.text(i), event)
	}
	if own != nil {
		e.place(own.position, own.event)
	}
	return nil
}

func (e entity) ms(field string) world.Millis {
	text := e.get(field)
	if text == "" {
		return 0 // absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return world.Millis(n)
}

func (e entity) int(field string) int { return int(e.ms(field)) }

// event returns the event that a reference field points to; a zero one when it was not read.
func (e entity) event(field string) world.Event {
	position := e.get(field)
	for i := range e.events {
		if e.events[i].position == position {
			return e.events[i].event
		}
	}
	return world.Event{}
}

// place makes an event known, in the place of one that is known at that position.
func (e *entity) place(position string, event world.Event) {
	for i := range e.events {
		if e.events[i].position == position {
			e.events[i].event = event
			return
		}
	}
	e.events = append(e.events, placedEvent{position, event})
}

// index returns where the value of a field stands, -1 when there is no such field.
func (e entity) index(field string) int {
	for i := 0; i < len(e.fields); i += 2 {
		if name, ok := e.fields[i].(string); ok && name == field {
			return i + 1
		}
	}
	return -1
}

// get returns a field, "" when it is absent. They are so few that looking is faster than a map.
func (e entity) get(field string) string {
	if i := e.index(field); i >= 0 {
		return e.fields.text(i)
	}
	return ""
}

// has reports whether there is a field.
func (e entity) has(field string) bool {
	i := e.index(field)
	return i >= 0 && e.fields[i] != nil
}

// set changes a field; nil takes it away.
func (e *entity) set(field string, value any) {
	if i := e.index(field); i >= 0 {
		e.fields[i] = value
		return
	}
	e.fields = append(e.fields, field, value)
}

// before reports whether the event of a reference field stands before position in the log.
func (e entity) before(field string, position int) bool {
	return e.has(field) && atoi(e.get(field)) <= position
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

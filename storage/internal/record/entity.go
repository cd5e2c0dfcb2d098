package record

import (
	"strconv"

	"github.com/world-redis/world-redis"
)

// Entity is what a script replied of a run or step: its hash, and the events to which its fields point.
type Entity struct {
	RunID  string
	Fields Reply         // name, value, …; the value of a removed field is nil
	events []placedEvent // that the fields point to
}

// FieldsARelation is how many elements of a reply an event takes that an entity points to: position, record, payload.
const FieldsARelation = 3

type placedEvent struct {
	position string
	event    world.Event
}

// DecodeEntity reads the reply of add_entity() and entity() in lua/lib/entity.lua. own is the event that the script left out, because
// the caller has it.
func DecodeEntity(runID string, r Reply, own *Stored) (Entity, error) {
	i := FieldsOf(r)
	e := Entity{RunID: runID, Fields: r[:i:i]}
	err := e.refer(r.After(i), own)
	return e, err
}

// FieldsOf returns how many elements of such a reply are fields; the rest are events.
func FieldsOf(r Reply) int {
	i := 0
	for ; i+1 < len(r); i += 2 {
		if name := r.Text(i); name != "" && name[0] <= '9' && name[0] >= '0' {
			break
		}
	}
	return i
}

// refer reads {position, record, payload, ...} of the events that an entity points to.
func (e *Entity) refer(refs Reply, own *Stored) error {
	e.events = make([]placedEvent, 0, len(refs)/FieldsARelation+1)
	for i := 0; i+2 < len(refs); i += FieldsARelation {
		if refs[i+1] == nil {
			continue // removed since the script read its length
		}
		event, err := Decode(e.RunID, refs.Number(i), refs.Text(i+1), refs.Bytes(i+2))
		if err != nil {
			return err
		}
		e.Place(refs.Text(i), event)
	}
	if own != nil {
		e.Place(own.Position, own.Event)
	}
	return nil
}

// Millis returns a field that is a time, 0 when it is absent.
func (e Entity) Millis(field string) world.Millis {
	text := e.Get(field)
	if text == "" {
		return 0 // absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return world.Millis(n)
}

func (e Entity) int(field string) int { return int(e.Millis(field)) }

// event returns the event that a reference field points to; a zero one when it was not read.
func (e Entity) event(field string) world.Event {
	position := e.Get(field)
	for i := range e.events {
		if e.events[i].position == position {
			return e.events[i].event
		}
	}
	return world.Event{}
}

// Place adds an event, or replaces the one at that position.
func (e *Entity) Place(position string, event world.Event) {
	for i := range e.events {
		if e.events[i].position == position {
			e.events[i].event = event
			return
		}
	}
	e.events = append(e.events, placedEvent{position, event})
}

// index returns where the value of a field stands, -1 when there is no such field.
func (e Entity) index(field string) int {
	for i := 0; i < len(e.Fields); i += 2 {
		if name, ok := e.Fields[i].(string); ok && name == field {
			return i + 1
		}
	}
	return -1
}

// Get returns a field, "" when it is absent. There are so few fields that a search is faster than a map.
func (e Entity) Get(field string) string {
	if i := e.index(field); i >= 0 {
		return e.Fields.Text(i)
	}
	return ""
}

// has reports whether there is a field.
func (e Entity) has(field string) bool {
	i := e.index(field)
	return i >= 0 && e.Fields[i] != nil
}

// Set changes a field; nil takes it away.
func (e *Entity) Set(field string, value any) {
	if i := e.index(field); i >= 0 {
		e.Fields[i] = value
		return
	}
	e.Fields = append(e.Fields, field, value)
}

// Before reports whether the event of a reference field stands before position in the log.
func (e Entity) Before(field string, position int) bool {
	return e.has(field) && Int(e.Get(field)) <= position
}

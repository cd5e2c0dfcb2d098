package storagetest

import (
	"fmt"

	"github.com/world-redis/world-redis"
)

// runData draws the eventData of a run's creation. Some runs have about as many attributes as
// there may be, and some keep nothing after their end.
func (m *mix) runData(c *Caller) world.Fields {
	fields := c.RunData()
	if c.Spec < firstAttributeSpec || m.chance(40) {
		return fields
	}
	attributes := map[string]string{}
	for range m.rng.IntN(4) {
		attributes[m.attribute()] = fmt.Sprint(m.rng.IntN(10))
	}
	if m.chance(25) {
		for i := range world.MaxAttributes - m.rng.IntN(2) - len(attributes) {
			attributes[fmt.Sprintf("key %d", i)] = ""
		}
	}
	if m.chance(25) && len(attributes) < world.MaxAttributes {
		attributes["$retention"] = []string{"0", "0", "1"}[m.rng.IntN(3)]
	}
	return append(fields, Data(c.T, "attributes", attributes, "allowReservedAttributes", true)...)
}

func (m *mix) attribute() string {
	return []string{"a", "b", "ü {c}", "$root", "e", "f", "g"}[m.rng.IntN(7)]
}

// changes draws an attr_set: a workflow's, under an id, or a step's, mostly without.
func (m *mix) changes(c *Caller, run int) (id string, fields world.Fields) {
	id, writer := fmt.Sprintf("attr%d_%d", run, m.rng.IntN(4)), writerWorkflow
	if m.chance(40) {
		writer = writerStep
	}
	if (writer == writerStep) != m.chance(15) {
		id = ""
	}
	seen := map[string]bool{}
	changes := []map[string]any{}
	for range m.rng.IntN(4) {
		key := m.attribute()
		if m.chance(8) {
			key = "$retention"
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		var value any
		if m.chance(75) {
			value = fmt.Sprint(m.rng.IntN(3))
		}
		changes = append(changes, map[string]any{"key": key, "value": value})
	}
	return id, Data(c.T, "changes", changes, "writer", map[string]any{"type": writer}, "allowReservedAttributes", true)
}

package main

import (
	"github.com/fxamacker/cbor/v2"
	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
)

// entry is one field of an event's data.
type entry struct {
	key   string
	value any
}

// sixEvents returns the six calls of a one-step run, with four payloads of the given size. The storage measurements
// of Node write the same. They have no run id yet.
func sixEvents(size int, workflow, stepID string) ([]world.CreateEvent, error) {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(i*31 + 7)
	}
	var events []world.CreateEvent
	for _, e := range []struct {
		kind world.EventType
		of   string
		data []entry
	}{
		{world.EventRunCreated, "", []entry{{"deploymentId", "bench"}, {"workflowName", workflow}, {"input", payload}, {"executionContext", map[string]any{}}}},
		{world.EventRunStarted, "", nil},
		{world.EventStepCreated, stepID, []entry{{"stepName", "step//./bench//add"}, {"input", payload}}},
		{world.EventStepStarted, stepID, nil},
		{world.EventStepCompleted, stepID, []entry{{"result", payload}}},
		{world.EventRunCompleted, "", []entry{{"output", payload}}},
	} {
		event := world.CreateEvent{Type: e.kind, CorrelationID: e.of, SpecVersion: 3}
		for _, field := range e.data {
			value, err := cbor.Marshal(field.value)
			if err != nil {
				return nil, err
			}
			event.Data = append(event.Data, world.Field{Key: field.key, Value: value})
		}
		events = append(events, event)
	}
	return events, nil
}

// bodiesOf encodes events for the HTTP API.
func bodiesOf(events []world.CreateEvent) ([][]byte, error) {
	var bodies [][]byte
	for _, e := range events {
		event := map[string]any{"eventType": e.Type, "specVersion": e.SpecVersion}
		if e.CorrelationID != "" {
			event["correlationId"] = e.CorrelationID
		}
		if e.Data != nil {
			data := map[string]cbor.RawMessage{}
			for _, field := range e.Data {
				data[field.Key] = cbor.RawMessage(field.Value)
			}
			event["eventData"] = data
		}
		body, err := cbor.Marshal(map[string]any{"event": event})
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

func newRunID() string { return "wrun_" + ulid.Make().String() }

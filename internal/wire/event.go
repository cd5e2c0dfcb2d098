package wire

import "github.com/world-redis/world-redis"

// EventSize estimates the size of an event, in bytes.
func EventSize(v *world.Event) int {
	n := 224
	for _, f := range v.Data {
		n += len(f.Key) + len(f.Value) + 3
	}
	return n
}

// Event writes an event.
func Event(e *Encoder, v *world.Event) {
	o := e.Object()
	o.Text("eventId", v.EventID)
	o.Text("runId", v.RunID)
	o.Text("eventType", string(v.Type))
	o.OptionalText("correlationId", v.CorrelationID)
	o.OptionalWhole("specVersion", v.SpecVersion)
	o.Whole("createdAt", int64(v.CreatedAt))
	o.OptionalMillis("occurredAt", v.OccurredAt)
	o.OptionalText("resumeId", v.ResumeID)
	if len(v.Data) > 0 {
		o.Key("eventData")
		Fields(e, v.Data)
	}
	o.End()
}

// Fields writes fields as a map in their order.
func Fields(e *Encoder, fields world.Fields) {
	o := e.Object()
	for _, f := range fields {
		o.OptionalRaw(f.Key, f.Value)
	}
	o.End()
}

package httpapi

import "github.com/world-redis/world-redis"

func eventSize(v *world.Event) int {
	n := 224
	for _, f := range v.Data {
		n += len(f.Key) + len(f.Value) + 3
	}
	return n
}

func writeEvent(e *encoder, v *world.Event) {
	o := e.object()
	o.text("eventId", v.EventID)
	o.text("runId", v.RunID)
	o.text("eventType", string(v.Type))
	o.optionalText("correlationId", v.CorrelationID)
	o.optionalWhole("specVersion", v.SpecVersion)
	o.whole("createdAt", int64(v.CreatedAt))
	o.optionalMillis("occurredAt", v.OccurredAt)
	o.optionalText("resumeId", v.ResumeID)
	if len(v.Data) > 0 {
		o.key("eventData")
		writeFields(e, v.Data)
	}
	o.end()
}

func encodeEvent(e *encoder, v world.Event) {
	e.grow(eventSize(&v) + 128)
	writeEvent(e, &v)
}

func writeFields(e *encoder, fields world.Fields) {
	o := e.object()
	for _, f := range fields {
		o.optionalRaw(f.Key, f.Value)
	}
	o.end()
}

func resultSize(r *world.EventResult) int {
	n := 256 + sizes(r.Events, eventSize)
	if r.Event != nil {
		n += eventSize(r.Event)
	}
	if r.Run != nil {
		n += runSize(r.Run)
	}
	if r.Step != nil {
		n += stepSize(r.Step)
	}
	if r.Hook != nil {
		n += hookSize(r.Hook)
	}
	return n
}

// EncodeResult writes a result as POST /v1/runs/{runId}/events answers it, in CBOR.
func EncodeResult(r *world.EventResult) []byte {
	e := newEncoder(resultSize(r) + 128)
	writeResult(e, r)
	return e.bytes
}

func encodeResult(e *encoder, r world.EventResult) {
	e.grow(resultSize(&r) + 128)
	writeResult(e, &r)
}

func writeResult(e *encoder, r *world.EventResult) {
	o := e.object()
	member(e, &o, "event", r.Event, writeEvent)
	member(e, &o, "run", r.Run, writeRun)
	member(e, &o, "step", r.Step, writeStep)
	member(e, &o, "hook", r.Hook, writeHook)
	member(e, &o, "wait", r.Wait, writeWait)
	if r.Events != nil {
		o.key("events")
		e.array(len(r.Events))
		for i := range r.Events {
			writeEvent(e, &r.Events[i])
		}
		o.cursor(r.Cursor)
		o.flag("hasMore", r.HasMore)
	}
	o.optionalWhole("maxEvents", r.MaxEvents)
	if r.StepCreated {
		o.flag("stepCreated", true)
	}
	o.end()
}

// member writes an entity of a result, if it is there.
func member[T any](e *encoder, o *objectWriter, key string, entity *T, write func(*encoder, *T)) {
	if entity != nil {
		o.key(key)
		write(e, entity)
	}
}

package wire

import "github.com/world-redis/world-redis"

// ResultSize estimates the size of a result, in bytes.
func ResultSize(r *world.EventResult) int {
	n := 256 + Sizes(r.Events, EventSize)
	if r.Event != nil {
		n += EventSize(r.Event)
	}
	if r.Run != nil {
		n += RunSize(r.Run)
	}
	if r.Step != nil {
		n += StepSize(r.Step)
	}
	if r.Hook != nil {
		n += HookSize(r.Hook)
	}
	return n
}

// EncodeResult encodes a result in CBOR, as the answer to POST /v1/runs/{runId}/events.
func EncodeResult(r *world.EventResult) []byte {
	e := NewEncoder(ResultSize(r) + 128)
	Result(e, r)
	return e.Bytes
}

// Result writes a result as the answer to the call that appends an event.
func Result(e *Encoder, r *world.EventResult) {
	o := e.Object()
	Member(e, &o, "event", r.Event, Event)
	Member(e, &o, "run", r.Run, Run)
	Member(e, &o, "step", r.Step, Step)
	Member(e, &o, "hook", r.Hook, Hook)
	Member(e, &o, "wait", r.Wait, Wait)
	if r.Events != nil {
		o.Key("events")
		e.Array(len(r.Events))
		for i := range r.Events {
			Event(e, &r.Events[i])
		}
		o.Cursor(r.Cursor)
		o.Flag("hasMore", r.HasMore)
	}
	o.OptionalWhole("maxEvents", r.MaxEvents)
	if r.StepCreated {
		o.Flag("stepCreated", true)
	}
	o.End()
}

// Member writes an entity of a result, if it is set.
func Member[T any](e *Encoder, o *Object, key string, entity *T, write func(*Encoder, *T)) {
	if entity != nil {
		o.Key(key)
		write(e, entity)
	}
}

// Sizes adds up the sizes of entities, so that the memory for an answer is allocated once.
func Sizes[T any](entities []T, size func(*T) int) int {
	total := 0
	for i := range entities {
		total += size(&entities[i])
	}
	return total
}

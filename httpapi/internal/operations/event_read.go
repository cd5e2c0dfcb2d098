package operations

import (
	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

const (
	maxResumeID  = 512 // bytes
	maxDigest    = 512 // bytes
	maxEventType = 64  // bytes
)

// eventRequest reads the body of an events.create call: {event, params?}. The event that it returns
// is complete: it has a known type, the eventData that its type requires, and timestamps as epoch milliseconds.
func eventRequest(body world.Raw) (world.CreateEvent, error) {
	var req world.CreateEvent
	top := input.ObjectOf("body", body)
	event, params := top.Object("event"), top.Object("params")
	switch {
	case top.Err != nil:
		return req, top.Err
	case event == nil:
		return req, refuse.Invalid("body.event is missing")
	}
	if params != nil {
		if err := readEventParams(params, &req); err != nil {
			return req, err
		}
	}
	if err := readEvent(event, &req); err != nil {
		return req, err
	}
	return req, checkEvent(&req)
}

func readEvent(event *input.Object, req *world.CreateEvent) error {
	req.Type = world.EventType(event.Text("eventType", maxEventType))
	req.CorrelationID = event.ID("correlationId")
	req.SpecVersion = event.Small("specVersion")
	if id := event.Text("resumeId", maxResumeID); id != "" {
		req.ResumeID = id
	}
	data := event.Get("eventData")
	if event.Err != nil {
		return event.Err
	}
	if data == nil {
		return nil
	}
	var err error
	req.Data, err = input.EntriesOf("event.eventData", data)
	return err
}

// readEventParams reads the options. Unknown ones are telemetry of the client.
func readEventParams(params *input.Object, req *world.CreateEvent) error {
	req.ResolveNone = params.ResolveNone()
	req.V1Compat = params.Flag("v1Compat")
	req.OccurredAt = params.Millis("occurredAt")
	req.EventCount = params.Whole("eventCount")
	req.SinceCursor = params.Text("sinceCursor", input.MaxCursor)
	req.SkipPreload = params.Flag("skipPreload")
	req.PreloadEvents = params.Flag("preloadEvents")
	req.ResumePayloadDigest = params.Text("resumePayloadDigest", maxDigest)
	req.ResumeID = params.Text("resumeId", maxResumeID) // the SDK sends it here, too
	req.LogEnd = readLogEnd(params)
	return params.Err
}

// readLogEnd reads which event the caller has seen last: {position, createdAt}.
func readLogEnd(params *input.Object) *world.LogEnd {
	end := params.Object("logEnd")
	if end == nil {
		return nil
	}
	position := end.Whole("position")
	read := world.LogEnd{CreatedAt: end.Millis("createdAt")}
	switch {
	case end.Err != nil:
		params.Err = end.Err
		return nil
	case position == nil || *position > world.MaxPosition:
		params.Fail("logEnd.position", "must be the position of an event in the log, counted from 0")
		return nil
	}
	read.Position = int(*position)
	return &read
}

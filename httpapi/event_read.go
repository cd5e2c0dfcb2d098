package httpapi

import (
	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

const (
	maxResumeID  = 512 // bytes
	maxDigest    = 512 // bytes
	maxResolve   = 16  // bytes
	maxEventType = 64  // bytes
)

// eventRequest reads the body of an events.create call: {event, params?}. What it lets
// through is complete: a known type, its required eventData, moments as epoch milliseconds.
func (d codec) eventRequest(body world.Raw) (world.CreateEvent, error) {
	var req world.CreateEvent
	top := d.objectOf("body", body)
	event, params := top.object("event"), top.object("params")
	switch {
	case top.err != nil:
		return req, top.err
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

func readEvent(event *object, req *world.CreateEvent) error {
	req.Type = world.EventType(event.text("eventType", maxEventType))
	req.CorrelationID = event.id("correlationId")
	req.SpecVersion = event.small("specVersion")
	if id := event.text("resumeId", maxResumeID); id != "" {
		req.ResumeID = id
	}
	data := event.get("eventData")
	if event.err != nil {
		return event.err
	}
	if data == nil {
		return nil
	}
	var err error
	req.Data, err = event.codec.entriesOf("event.eventData", data)
	return err
}

// readEventParams reads the options; those it does not know are telemetry of the client.
func readEventParams(params *object, req *world.CreateEvent) error {
	none, err := resolveNone(params.text("resolveData", maxResolve))
	if err != nil {
		return err
	}
	req.ResolveNone = none
	req.V1Compat = params.flag("v1Compat")
	req.OccurredAt = params.millis("occurredAt")
	req.EventCount = params.whole("eventCount")
	req.SinceCursor = params.text("sinceCursor", maxCursor)
	req.SkipPreload = params.flag("skipPreload")
	req.PreloadEvents = params.flag("preloadEvents")
	req.ResumePayloadDigest = params.text("resumePayloadDigest", maxDigest)
	req.ResumeID = params.text("resumeId", maxResumeID) // the SDK names it here, too
	req.LogEnd = readLogEnd(params)
	return params.err
}

// readLogEnd reads which event the caller has been given last, {position, createdAt}.
func readLogEnd(params *object) *world.LogEnd {
	end := params.object("logEnd")
	if end == nil {
		return nil
	}
	position := end.whole("position")
	read := world.LogEnd{CreatedAt: end.millis("createdAt")}
	switch {
	case end.err != nil:
		params.err = end.err
		return nil
	case position == nil || *position > world.MaxPosition:
		params.fail("logEnd.position", "must be the place of an event in the log, counted from 0")
		return nil
	}
	read.Position = int(*position)
	return &read
}

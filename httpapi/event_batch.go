package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// maxBatch is how many events one batch may have.
const maxBatch = 256

// createEvents serves events.createBatch: {events: [{event, occurredAt?}], params?}.
func (s *Server) createEvents(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	body, err := s.readItem(c)
	if err != nil {
		return err
	}
	req, err := s.codec.batchRequest(body)
	if err != nil {
		return err
	}
	req.RunID, req.RequestID = runID, requestID(c)
	items, err := s.deps.Store.CreateBatch(c.Request().Context(), req)
	if err != nil {
		return err
	}
	for i := range items {
		if items[i].Err == nil {
			s.runEndedBy(req.Events[i].Type, runID)
		}
	}
	return answerOne(s, c, &items, sizes(items, batchItemSize), writeBatch)
}

func (d codec) batchRequest(body world.Raw) (world.CreateBatch, error) {
	var req world.CreateBatch
	top := d.objectOf("body", body)
	if params := top.object("params"); params != nil {
		var shared world.CreateEvent
		if err := readEventParams(params, &shared); err != nil {
			return req, err
		}
		req.ResolveNone, req.LogEnd = shared.ResolveNone, shared.LogEnd
	}
	for _, raw := range top.list("events", maxBatch) {
		item := d.objectOf("body.events", raw)
		event := item.object("event")
		e := world.CreateEvent{OccurredAt: item.millis("occurredAt")}
		switch {
		case item.err != nil:
			return req, item.err
		case event == nil:
			return req, invalid("an entry of body.events has no event")
		}
		if err := readEvent(event, &e); err != nil {
			return req, err
		}
		if err := checkEvent(d, &e); err != nil {
			return req, err
		}
		req.Events = append(req.Events, e)
	}
	return req, top.err
}

func batchItemSize(i *world.BatchItem) int { return 64 + resultSize(&i.Result) }

// writeBatch writes {results: [...]}, an answer or a refusal for each event.
func writeBatch(e *encoder, items *[]world.BatchItem) {
	o := e.object()
	o.key("results")
	e.array(len(*items))
	for i := range *items {
		item := &(*items)[i]
		if item.Err != nil {
			writeBatchError(e, item.Err)
			continue
		}
		one := e.object()
		one.whole("status", 200)
		member(e, &one, "event", item.Result.Event, writeEvent)
		member(e, &one, "run", item.Result.Run, writeRun)
		member(e, &one, "step", item.Result.Step, writeStep)
		member(e, &one, "wait", item.Result.Wait, writeWait)
		one.end()
	}
	o.end()
}

func writeBatchError(e *encoder, refusal *world.Error) {
	status, _ := wireForm(refusal.Code)
	one := e.object()
	one.whole("status", int64(status))
	one.text("error", string(refusal.Code))
	one.text("message", refusal.Message)
	if refusal.RetryAfter > 0 {
		one.whole("retryAfter", int64(refusal.RetryAfter))
	}
	one.end()
}

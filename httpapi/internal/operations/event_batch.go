package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

// decodeBatch reads events.createBatch: {events: [{event, occurredAt?}], params?}.
func decodeBatch(r *input.Request) (world.CreateBatch, error) {
	runID := r.PathID("runId")
	body, err := r.Item()
	if err != nil {
		return world.CreateBatch{}, err
	}
	req, err := batchRequest(body)
	req.RunID, req.RequestID = runID, r.ID
	return req, err
}

func (a *API) createBatch(ctx context.Context, req world.CreateBatch) ([]world.BatchItem, error) {
	items, err := a.Deps.Store.CreateBatch(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range items {
		if items[i].Err == nil {
			a.runEndedBy(req.Events[i].Type, req.RunID)
		}
	}
	return items, nil
}

func batchRequest(body world.Raw) (world.CreateBatch, error) {
	var req world.CreateBatch
	top := input.ObjectOf("body", body)
	if params := top.Object("params"); params != nil {
		var shared world.CreateEvent
		if err := readEventParams(params, &shared); err != nil {
			return req, err
		}
		req.ResolveNone, req.LogEnd = shared.ResolveNone, shared.LogEnd
	}
	for _, raw := range top.List("events", world.MaxBatch) {
		item := input.ObjectOf("body.events", raw)
		event := item.Object("event")
		e := world.CreateEvent{OccurredAt: item.Millis("occurredAt")}
		switch {
		case item.Err != nil:
			return req, item.Err
		case event == nil:
			return req, refuse.Invalid("an entry of body.events has no event")
		}
		if err := readEvent(event, &e); err != nil {
			return req, err
		}
		if err := checkEvent(&e); err != nil {
			return req, err
		}
		req.Events = append(req.Events, e)
	}
	return req, top.Err
}

func batchItemSize(i *world.BatchItem) int { return 64 + wire.ResultSize(&i.Result) }

// encodeBatch writes {results: [...]}, with an answer or an error for each event.
func encodeBatch(e *wire.Encoder, items []world.BatchItem) {
	e.Grow(wire.Sizes(items, batchItemSize) + 128)
	o := e.Object()
	o.Key("results")
	e.Array(len(items))
	for i := range items {
		item := &items[i]
		if item.Err != nil {
			writeBatchError(e, item.Err)
			continue
		}
		one := e.Object()
		one.Whole("status", 200)
		wire.Member(e, &one, "event", item.Result.Event, wire.Event)
		wire.Member(e, &one, "run", item.Result.Run, wire.Run)
		wire.Member(e, &one, "step", item.Result.Step, wire.Step)
		wire.Member(e, &one, "wait", item.Result.Wait, wire.Wait)
		one.End()
	}
	o.End()
}

func writeBatchError(e *wire.Encoder, refusal *world.Error) {
	status, _ := refuse.WireForm(refusal.Code)
	one := e.Object()
	one.Whole("status", int64(status))
	one.Text("error", string(refusal.Code))
	one.Text("message", refusal.Message)
	if refusal.RetryAfter > 0 {
		one.Whole("retryAfter", int64(refusal.RetryAfter))
	}
	one.End()
}

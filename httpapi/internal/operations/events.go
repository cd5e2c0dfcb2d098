package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

// entityEventsLimit is the default limit of a list by correlation id.
const entityEventsLimit = 100

// decodeEvent reads an event of the run in the path. If the path has no run, the event must be a run_created, and the service
// chooses the id of the run.
func decodeEvent(r *input.Request) (world.CreateEvent, error) {
	runID := r.PathID("runId")
	body, err := r.Item()
	if err != nil {
		return world.CreateEvent{}, err
	}
	req, err := eventRequest(body)
	if err != nil {
		return req, err
	}
	if runID == "" && req.Type != world.EventRunCreated {
		return req, refuse.Invalid("runId is required for %s events", req.Type)
	}
	req.RunID, req.RequestID = runID, r.ID
	return req, nil
}

func (a *API) createEvent(ctx context.Context, req world.CreateEvent) (world.EventResult, error) {
	result, err := a.Deps.Store.CreateEvent(ctx, req)
	if err == nil {
		a.runEndedBy(req.Type, req.RunID)
	}
	return result, err
}

func (a *API) getEvent(ctx context.Context, ref entityRef) (world.Event, error) {
	return a.Deps.Store.GetEvent(ctx, ref.runID, ref.id, ref.none)
}

// decodeEvents reads a query for the events of a run.
func decodeEvents(r *input.Request) (world.EventQuery, error) {
	want := world.EventQuery{RunID: r.PathID("runId"), Page: r.Page(), ResolveNone: r.ResolveNone()}
	return want, r.Err
}

// decodeEntityEvents reads a query for the events of a step, hook or wait.
func decodeEntityEvents(r *input.Request) (world.EventQuery, error) {
	want := world.EventQuery{Page: r.Page(), ResolveNone: r.ResolveNone(), RunID: r.QueryID("runId"), CorrelationID: r.QueryID("correlationId")}
	if want.Page.Limit == 0 {
		want.Page.Limit = entityEventsLimit
	}
	if want.CorrelationID == "" {
		r.Fail(refuse.Invalid("correlationId is missing"))
	}
	return want, r.Err
}

func encodeEvent(e *wire.Encoder, v world.Event) {
	e.Grow(wire.EventSize(&v) + 128)
	wire.Event(e, &v)
}

func encodeResult(e *wire.Encoder, r world.EventResult) {
	e.Grow(wire.ResultSize(&r) + 128)
	wire.Result(e, &r)
}

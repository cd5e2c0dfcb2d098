package operations

import (
	"context"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/wire"
)

// manyRuns is runs.getMany, which is a POST because a thousand ids are too many for a query. partial says that the caller handles
// an answer with only the first of its runs.
type manyRuns struct {
	ids           []string
	none, partial bool
}

func decodeManyRuns(r *input.Request) (manyRuns, error) {
	body := r.Object()
	want := manyRuns{ids: body.Texts("runIds", world.MaxGetRuns, world.ValidID, world.IDRule), none: body.ResolveNone(), partial: body.Flag("partial")}
	return want, body.Err
}

// foundRuns are runs in the order of the request, nil for those that do not exist.
type foundRuns struct {
	runs             []*world.Run
	partial, hasMore bool
}

func (a *API) getRuns(ctx context.Context, want manyRuns) (foundRuns, error) {
	runs, err := a.Deps.Store.GetRuns(ctx, want.ids, want.none)
	if err != nil {
		return foundRuns{}, err
	}
	found := foundRuns{runs: runs, partial: want.partial, hasMore: len(runs) < len(want.ids)}
	if found.hasMore && !want.partial {
		// A caller that does not read hasMore would miss the other runs.
		return found, world.Errorf(world.CodeTooLarge,
			"the %d runs are too large for one answer, which has room for the first %d: ask for fewer at a time, or with partial: true and then for the rest",
			len(want.ids), len(runs))
	}
	return found, nil
}

func encodeManyRuns(e *wire.Encoder, found foundRuns) {
	size := 64
	for _, run := range found.runs {
		if run != nil {
			size += wire.RunSize(run)
		}
	}
	e.Grow(size)
	o := e.Object()
	o.Key("data")
	e.Array(len(found.runs))
	for _, run := range found.runs {
		if run == nil {
			e.Null()
		} else {
			wire.Run(e, run)
		}
	}
	if found.partial {
		o.Flag("hasMore", found.hasMore)
	}
	o.End()
}

// runWait is runs.waitForTerminalStatus.
type runWait struct {
	runID string
	wait  time.Duration
	none  bool
}

func decodeWait(r *input.Request) (runWait, error) {
	want := runWait{runID: r.PathID("runId"), none: r.ResolveNone(), wait: readWait(r, "timeoutMs")}
	return want, r.Err
}

// awaitRun waits until the run has ended, the time is up, or the service stops, and returns the run as it is then.
func (a *API) awaitRun(ctx context.Context, want runWait) (world.Run, error) {
	waiting, stop := a.untilDrain(ctx)
	defer stop()
	run, err := a.Deps.Store.AwaitRun(waiting, want.runID, want.wait, want.none)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		run, err = a.Deps.Store.GetRun(ctx, want.runID, want.none)
	}
	return run, err
}

// untilDrain returns a context that also ends when the service begins to stop.
func (a *API) untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-a.Draining:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// readWait reads a number of milliseconds. Absent is 0, and values above the limit count as the limit.
func readWait(r *input.Request, name string) time.Duration {
	q := r.Query()
	if !q.Has(name) {
		return 0
	}
	ms, err := strconv.ParseFloat(q.Get(name), 64)
	if err != nil || ms != ms || ms < 0 {
		r.Fail(refuse.Invalid("%s must be milliseconds, 0 or more", name))
		return 0
	}
	return time.Duration(min(ms, float64(world.MaxAwaitRun.Milliseconds())) * float64(time.Millisecond))
}

// decodeCancel reads runs.cancelMany.
func decodeCancel(r *input.Request) (world.CancelRuns, error) {
	body := r.Object()
	anyText := func(s string) bool { return s != "" && len(s) <= input.MaxName }
	req := world.CancelRuns{
		RunIDs:    body.Texts("runIds", world.MaxCancelRuns, anyText, "must be text"),
		Reason:    body.Text("cancelReason", 4*world.MaxCancelReason),
		RequestID: r.ID,
	}
	if body.Err != nil {
		return req, body.Err
	}
	return req, world.CheckCancelReason("body.cancelReason", req.Reason)
}

func (a *API) cancelRuns(ctx context.Context, req world.CancelRuns) ([]world.CancelResult, error) {
	results, err := a.Deps.Store.CancelRuns(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		// An earlier call may have cancelled the run and failed before it came to this line.
		if r.Outcome == world.Cancelled || r.Outcome == world.AlreadyCancelled {
			a.runEnded(r.RunID)
		}
	}
	return results, nil
}

func encodeCancelled(e *wire.Encoder, results []world.CancelResult) {
	e.Grow(256 + 128*len(results))
	count := map[world.CancelOutcome]int64{}
	for _, r := range results {
		count[r.Outcome]++
	}
	o := e.Object()
	o.Key("summary")
	summary := e.Object()
	summary.Whole("requested", int64(len(results)))
	summary.Whole("cancelled", count[world.Cancelled])
	summary.Whole("alreadyCancelled", count[world.AlreadyCancelled])
	summary.Whole("notCancellable", count[world.NotCancellable])
	summary.Whole("notFound", count[world.CancelNotFound])
	summary.Whole("failed", count[world.CancelFailed])
	summary.End()
	o.Key("results")
	e.Array(len(results))
	for _, r := range results {
		one := e.Object()
		one.Text("runId", r.RunID)
		one.Text("outcome", string(r.Outcome))
		one.OptionalText("status", string(r.Status))
		if r.Outcome == world.CancelFailed {
			one.Text("code", string(r.Code))
			one.Flag("retryable", r.Retryable)
		}
		one.End()
	}
	o.End()
}

// attributeSpec is the first spec version with attributes.
const attributeSpec = 4

// decodeAttributes reads runs.experimentalSetAttributes: an attr_set from outside the run. It is
// written as if by a step, because replay skips what steps wrote.
func decodeAttributes(r *input.Request) (world.CreateEvent, error) {
	runID, body := r.PathID("runId"), r.Object()
	changes, reserved := body.Get("changes"), body.Flag("allowReservedAttributes")
	switch {
	case body.Err != nil:
		return world.CreateEvent{}, body.Err
	case changes == nil:
		return world.CreateEvent{}, refuse.Invalid("body.changes is missing")
	}
	req := world.CreateEvent{
		RunID: runID, Type: world.EventAttrSet, SpecVersion: attributeSpec, RequestID: r.ID, ResolveNone: true,
		Data: world.Fields{{Key: "changes", Value: changes}, {Key: "writer", Value: outsideWriter()}},
	}
	if reserved {
		req.Data = append(req.Data, world.Field{Key: "allowReservedAttributes", Value: world.Raw{cboritem.True}})
	}
	return req, checkEvent(&req)
}

// setAttributes changes attributes and returns all that the run has then.
func (a *API) setAttributes(ctx context.Context, req world.CreateEvent) (world.Raw, error) {
	// The SDK of an older run cannot replay an attr_set.
	run, err := a.Deps.Store.GetRun(ctx, req.RunID, true)
	if err != nil {
		return nil, err
	}
	if run.SpecVersion < attributeSpec {
		return nil, refuse.Invalid("run %s has spec version %d, attributes need %d", req.RunID, run.SpecVersion, attributeSpec)
	}
	result, err := a.Deps.Store.CreateEvent(ctx, req)
	if err != nil || result.Run == nil {
		return nil, err
	}
	return result.Run.Attributes, nil
}

func encodeAttributes(e *wire.Encoder, attributes world.Raw) {
	o := e.Object()
	o.Key("attributes")
	if len(attributes) > 0 {
		e.Raw(attributes)
	} else {
		e.Raw(world.Raw{cboritem.EmptyMap})
	}
	o.End()
}

// outsideWriter returns the writer of attributes that are set from outside the run.
func outsideWriter() world.Raw {
	e := wire.NewEncoder(64)
	o := e.Object()
	o.Text("type", "step")
	o.Text("stepId", "setAttributes")
	o.Whole("attempt", 1)
	o.End()
	return e.Bytes
}

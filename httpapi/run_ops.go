package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// getRuns serves runs.getMany. It is a POST because a thousand ids are too many for a path.
func (s *Server) getRuns(c echo.Context) error {
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	runIDs := body.texts("runIds", world.MaxGetRuns, validID, idRule)
	none, partial := body.resolveNone(), body.flag("partial")
	if body.err != nil {
		return body.err
	}
	runs, err := s.deps.Store.GetRuns(c.Request().Context(), runIDs, none)
	if err != nil {
		return err
	}
	hasMore := len(runs) < len(runIDs)
	if hasMore && !partial {
		// A caller that does not know of hasMore would take the rest for runs that it did not ask for.
		return world.Errorf(world.CodeTooLarge,
			"the %d runs are too large for one answer, which has room for the first %d: ask for fewer at a time, or with partial: true and then for the rest",
			len(runIDs), len(runs))
	}
	size := 64
	for _, run := range runs {
		if run != nil {
			size += runSize(run)
		}
	}
	e := newEncoder(size)
	o := e.object()
	o.key("data")
	e.array(len(runs))
	for _, run := range runs {
		if run == nil {
			e.null()
		} else {
			writeRun(e, run)
		}
	}
	if partial {
		o.flag("hasMore", hasMore)
	}
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

// awaitRun serves runs.waitForTerminalStatus: it answers when the run has ended, when the
// time is up, or when the service stops, with the run as it is then.
func (s *Server) awaitRun(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	q, none, err := getQuery(c)
	if err != nil {
		return err
	}
	wait, err := q.wait("timeoutMs")
	if err != nil {
		return err
	}
	request := c.Request().Context()
	ctx, stop := s.untilDrain(request)
	defer stop()
	run, err := s.deps.Store.AwaitRun(ctx, runID, wait, none)
	if err != nil && s.isDraining() && request.Err() == nil {
		run, err = s.deps.Store.GetRun(request, runID, none)
	}
	if err != nil {
		return err
	}
	return answerOne(s, c, &run, runSize(&run), writeRun)
}

// untilDrain returns a context that also ends when the service begins to stop.
func (s *Server) untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.draining:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// wait reads milliseconds; none is 0, and more than the most is the most.
func (q query) wait(name string) (time.Duration, error) {
	if !q.values.Has(name) {
		return 0, nil
	}
	ms, err := strconv.ParseFloat(q.values.Get(name), 64)
	if err != nil || ms != ms || ms < 0 {
		return 0, invalid("%s must be milliseconds, 0 or more", name)
	}
	return time.Duration(min(ms, float64(world.MaxAwaitRun.Milliseconds())) * float64(time.Millisecond)), nil
}

// cancelRuns serves runs.cancelMany.
func (s *Server) cancelRuns(c echo.Context) error {
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	anyText := func(s string) bool { return s != "" && len(s) <= maxName }
	req := world.CancelRuns{
		RunIDs:    body.texts("runIds", world.MaxCancelRuns, anyText, "must be text"),
		Reason:    body.text("cancelReason", 4*world.MaxCancelReason),
		RequestID: requestID(c),
	}
	if body.err != nil {
		return body.err
	}
	results, err := s.deps.Store.CancelRuns(c.Request().Context(), req)
	if err != nil {
		return err
	}
	for _, r := range results {
		// One that was cancelled before may have been so by a call that broke off here.
		if r.Outcome == world.Cancelled || r.Outcome == world.AlreadyCancelled {
			s.runEnded(r.RunID)
		}
	}
	e := newEncoder(256 + 128*len(results))
	writeCancelResults(e, results)
	return s.answer(c, http.StatusOK, e.bytes)
}

func writeCancelResults(e *encoder, results []world.CancelResult) {
	count := map[world.CancelOutcome]int64{}
	for _, r := range results {
		count[r.Outcome]++
	}
	o := e.object()
	o.key("summary")
	summary := e.object()
	summary.whole("requested", int64(len(results)))
	summary.whole("cancelled", count[world.Cancelled])
	summary.whole("alreadyCancelled", count[world.AlreadyCancelled])
	summary.whole("notCancellable", count[world.NotCancellable])
	summary.whole("notFound", count[world.CancelNotFound])
	summary.whole("failed", count[world.CancelFailed])
	summary.end()
	o.key("results")
	e.array(len(results))
	for _, r := range results {
		one := e.object()
		one.text("runId", r.RunID)
		one.text("outcome", string(r.Outcome))
		one.optionalText("status", string(r.Status))
		if r.Outcome == world.CancelFailed {
			one.text("code", string(r.Code))
			one.flag("retryable", r.Retryable)
		}
		one.end()
	}
	o.end()
}

// attributeSpec is the spec version that brought attributes.
const attributeSpec = 4

// setAttributes serves runs.experimentalSetAttributes: an attr_set whose writer is neither a
// workflow nor one of its steps. Replay passes over what a step wrote, so it is put down as one.
func (s *Server) setAttributes(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	changes, reserved := body.get("changes"), body.flag("allowReservedAttributes")
	switch {
	case body.err != nil:
		return body.err
	case changes == nil:
		return invalid("body.changes is missing")
	}
	req := world.CreateEvent{
		RunID: runID, Type: world.EventAttrSet, SpecVersion: attributeSpec, RequestID: requestID(c), ResolveNone: true,
		Data: world.Fields{{Key: "changes", Value: changes}, {Key: "writer", Value: outsideWriter()}},
	}
	if reserved {
		req.Data = append(req.Data, world.Field{Key: "allowReservedAttributes", Value: world.Raw{cborTrue}})
	}
	if err := checkEvent(s.codec, &req); err != nil {
		return err
	}
	// The SDK of an older run cannot replay an attr_set.
	run, err := s.deps.Store.GetRun(c.Request().Context(), runID, true)
	if err != nil {
		return err
	}
	if run.SpecVersion < attributeSpec {
		return invalid("run %s has spec version %d, attributes need %d", runID, run.SpecVersion, attributeSpec)
	}
	result, err := s.deps.Store.CreateEvent(c.Request().Context(), req)
	if err != nil {
		return err
	}
	e := newEncoder(256)
	o := e.object()
	o.key("attributes")
	if result.Run != nil && len(result.Run.Attributes) > 0 {
		e.raw(result.Run.Attributes)
	} else {
		e.raw(world.Raw{majorMap << 5})
	}
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

// outsideWriter is the writer of attributes that are set from outside the run.
func outsideWriter() world.Raw {
	e := newEncoder(64)
	o := e.object()
	o.text("type", "step")
	o.text("stepId", "setAttributes")
	o.whole("attempt", 1)
	o.end()
	return e.bytes
}

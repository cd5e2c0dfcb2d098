package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// The calls of SDKs from before event sourcing (contract §9). Their payloads are plain JSON
// values, and stay as they are like any other.

func (s *Server) createLegacyRun(c echo.Context) error {
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	req := world.CreateLegacyRun{
		DeploymentID: body.required("deploymentId", maxName), WorkflowName: body.required("workflowName", maxName),
		Input: body.payload("input"), ExecutionContext: body.mapping("executionContext"),
		RequestID: requestID(c), ResolveNone: body.resolveNone(),
	}
	if body.err != nil {
		return body.err
	}
	run, err := s.deps.Store.CreateLegacyRun(c.Request().Context(), req)
	if err != nil {
		return err
	}
	return answerOne(s, c, &run, runSize(&run), writeRun)
}

func (s *Server) updateLegacyRun(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	req := world.UpdateLegacyRun{
		RunID: runID, Status: world.RunStatus(body.text("status", maxEventType)),
		Output: body.get("output"), Error: body.legacyError("error"), ExecutionContext: body.mapping("executionContext"),
		RequestID: requestID(c), ResolveNone: body.resolveNone(),
	}
	if body.err != nil {
		return body.err
	}
	return s.answerLegacyRun(c, req)
}

// moveLegacyRun serves the calls that only set a status; their body may be left out.
func (s *Server) moveLegacyRun(status world.RunStatus, resume bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		runID, err := pathID(c, "runId")
		if err != nil {
			return err
		}
		none, err := s.onlyResolveData(c)
		if err != nil {
			return err
		}
		return s.answerLegacyRun(c, world.UpdateLegacyRun{
			RunID: runID, Status: status, Resume: resume, RequestID: requestID(c), ResolveNone: none,
		})
	}
}

func (s *Server) answerLegacyRun(c echo.Context, req world.UpdateLegacyRun) error {
	run, err := s.deps.Store.UpdateLegacyRun(c.Request().Context(), req)
	if err != nil {
		return err
	}
	if run.Status.Terminal() {
		s.runEnded(run.RunID)
	}
	return answerOne(s, c, &run, runSize(&run), writeRun)
}

func (s *Server) createLegacyStep(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	req := world.CreateLegacyStep{
		RunID: runID, StepID: body.id("stepId"), StepName: body.required("stepName", maxName), Input: body.payload("input"),
		RequestID: requestID(c), ResolveNone: body.resolveNone(),
	}
	switch {
	case body.err != nil:
		return body.err
	case req.StepID == "":
		return invalid("body.stepId is missing")
	}
	step, err := s.deps.Store.CreateLegacyStep(c.Request().Context(), req)
	if err != nil {
		return err
	}
	return answerOne(s, c, &step, stepSize(&step), writeStep)
}

func (s *Server) updateLegacyStep(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	stepID, err := pathID(c, "stepId")
	if err != nil {
		return err
	}
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	req := world.UpdateLegacyStep{
		RunID: runID, StepID: stepID, Status: world.StepStatus(body.text("status", maxEventType)),
		Output: body.get("output"), Error: body.legacyError("error"), RetryAfter: body.millis("retryAfter"),
		RequestID: requestID(c), ResolveNone: body.resolveNone(),
	}
	if body.get("attempt") != nil {
		attempt := body.small("attempt")
		req.Attempt = &attempt
	}
	if body.err != nil {
		return body.err
	}
	step, err := s.deps.Store.UpdateLegacyStep(c.Request().Context(), req)
	if err != nil {
		return err
	}
	return answerOne(s, c, &step, stepSize(&step), writeStep)
}

func (s *Server) createLegacyEvent(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	req := world.CreateLegacyEvent{
		RunID: runID, Type: world.EventType(body.required("eventType", maxEventType)), CorrelationID: body.id("correlationId"),
		RequestID: requestID(c), ResolveNone: body.resolveNone(),
	}
	data := body.get("eventData")
	if body.err != nil {
		return body.err
	}
	if data != nil {
		if req.Data, err = s.codec.entriesOf("body.eventData", data); err != nil {
			return err
		}
	}
	for i := range req.Data {
		if err := checkDatum(s.codec, &req.Data[i]); err != nil {
			return err
		}
	}
	event, err := s.deps.Store.CreateLegacyEvent(c.Request().Context(), req)
	if err != nil {
		return err
	}
	return answerOne(s, c, &event, eventSize(&event), writeEvent)
}

func (s *Server) createLegacyHook(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	req := world.CreateLegacyHook{
		RunID: runID, HookID: body.id("hookId"), Token: body.required("token", maxToken), Metadata: body.get("metadata"),
		RequestID: requestID(c), ResolveNone: body.resolveNone(),
	}
	switch {
	case body.err != nil:
		return body.err
	case req.HookID == "":
		return invalid("body.hookId is missing")
	}
	hook, err := s.deps.Store.CreateLegacyHook(c.Request().Context(), req)
	if err != nil {
		return err
	}
	return answerOne(s, c, &hook, hookSize(&hook), writeHook)
}

func (s *Server) disposeLegacyHook(c echo.Context) error {
	hookID, err := pathID(c, "hookId")
	if err != nil {
		return err
	}
	none, err := s.onlyResolveData(c)
	if err != nil {
		return err
	}
	req := world.DisposeLegacyHook{HookID: hookID, RequestID: requestID(c), ResolveNone: none}
	hook, err := s.deps.Store.DisposeLegacyHook(c.Request().Context(), req)
	if err != nil {
		return err
	}
	return answerOne(s, c, &hook, hookSize(&hook), writeHook)
}

// onlyResolveData reads a body that has nothing else to say and may be missing.
func (s *Server) onlyResolveData(c echo.Context) (none bool, err error) {
	if c.Request().ContentLength == 0 {
		return false, nil
	}
	body, err := s.readObject(c)
	if err != nil {
		return false, err
	}
	none = body.resolveNone()
	return none, body.err
}

// required returns a text that must be there.
func (o *object) required(key string, limit int) string {
	s := o.text(key, limit)
	if s == "" && o.err == nil {
		o.err = invalid("%s.%s is missing", o.path, key)
	}
	return s
}

// payload returns an item that must be there.
func (o *object) payload(key string) world.Raw {
	item := o.get(key)
	if item == nil && o.err == nil {
		o.err = invalid("%s.%s is missing", o.path, key)
	}
	return item
}

// mapping returns a map as it is, nil when absent.
func (o *object) mapping(key string) world.Raw {
	item := o.get(key)
	if item != nil && majorOf(item) != majorMap {
		o.fail(key, "must be an object")
	}
	return item
}

// legacyError returns an error as clients of spec 1 write it, nil when absent.
func (o *object) legacyError(key string) world.Raw {
	item := o.get(key)
	if item != nil && majorOf(item) != majorMap && majorOf(item) != majorText {
		o.fail(key, "must be text or an object")
	}
	return item
}

package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// getStep serves both routes to a step: below its run, and by its id alone.
func (s *Server) getStep(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	stepID, err := pathID(c, "stepId")
	if err != nil {
		return err
	}
	_, none, err := getQuery(c)
	if err != nil {
		return err
	}
	step, err := s.deps.Store.GetStep(c.Request().Context(), runID, stepID, none)
	if err != nil {
		return err
	}
	return answerOne(s, c, &step, stepSize(&step), writeStep)
}

func (s *Server) listSteps(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	_, page, none, err := listQuery(c)
	if err != nil {
		return err
	}
	steps, err := s.deps.Store.ListSteps(c.Request().Context(), world.StepQuery{RunID: runID, Page: page, ResolveNone: none})
	if err != nil {
		return err
	}
	return answerPage(s, c, steps, sizes(steps.Data, stepSize), writeStep)
}

func stepSize(t *world.Step) int {
	return 384 + len(t.StepName) + len(t.Input) + len(t.Output) + len(t.Error)
}

func writeStep(e *encoder, t *world.Step) {
	o := e.object()
	o.text("runId", t.RunID)
	o.text("stepId", t.StepID)
	o.text("stepName", t.StepName)
	o.text("status", string(t.Status))
	o.optionalRaw("input", t.Input)
	o.optionalRaw("output", t.Output)
	o.optionalRaw("error", t.Error)
	o.whole("attempt", int64(t.Attempt))
	o.optionalWhole("specVersion", t.SpecVersion)
	o.whole("createdAt", int64(t.CreatedAt))
	o.whole("updatedAt", int64(t.UpdatedAt))
	o.optionalMillis("startedAt", t.StartedAt)
	o.optionalMillis("completedAt", t.CompletedAt)
	o.optionalMillis("retryAfter", t.RetryAfter)
	o.end()
}

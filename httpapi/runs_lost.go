package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// lostCalls serves GET /v1/runs/lost.
func (s *Server) lostCalls(c echo.Context) error {
	_, page, _, err := listQuery(c)
	if err != nil {
		return err
	}
	if s.deps.Lost == nil {
		return world.Errorf(world.CodeNotFound, "this service does not look for lost calls")
	}
	calls, err := s.deps.Lost(c.Request().Context(), page)
	if err != nil {
		return err
	}
	return answerPage(s, c, calls, sizes(calls.Data, answeredCallSize), writeAnsweredCall)
}

func answeredCallSize(a *world.AnsweredCall) int {
	return 256 + len(a.WorkflowName) + len(a.HookID) + len(a.Token) + len(a.ResumeID)
}

func writeAnsweredCall(e *encoder, a *world.AnsweredCall) {
	o := e.object()
	o.text("kind", string(a.Kind))
	o.optionalMillis("answeredAt", a.At)
	o.text("runId", a.RunID)
	o.optionalText("workflowName", a.WorkflowName)
	o.optionalText("eventId", a.EventID)
	o.optionalText("hookId", a.HookID)
	o.optionalText("token", a.Token)
	o.optionalText("resumeId", a.ResumeID)
	o.end()
}

package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// wakeRun serves POST /v1/runs/{runId}/wake.
func (s *Server) wakeRun(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	if s.deps.Waker == nil {
		return world.Errorf(world.CodeNotFound, "this service does not wake runs on request")
	}
	woken, err := s.deps.Waker.WakeRun(c.Request().Context(), runID)
	if err != nil {
		return err
	}
	e := newEncoder(256 + len(woken.Run.WorkflowName) + len(woken.Run.DeploymentID))
	o := e.object()
	o.text("runId", runID)
	o.text("messageId", woken.MessageID)
	o.text("status", string(woken.Run.Status))
	o.text("workflowName", woken.Run.WorkflowName)
	o.text("deploymentId", woken.Run.DeploymentID)
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

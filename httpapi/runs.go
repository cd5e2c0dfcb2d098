package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

func (s *Server) getRun(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	_, none, err := getQuery(c)
	if err != nil {
		return err
	}
	run, err := s.deps.Store.GetRun(c.Request().Context(), runID, none)
	if err != nil {
		return err
	}
	return answerOne(s, c, &run, runSize(&run), writeRun)
}

func (s *Server) listRuns(c echo.Context) error {
	q, page, none, err := listQuery(c)
	if err != nil {
		return err
	}
	want := world.RunQuery{WorkflowName: q.values.Get("workflowName"), Page: page, ResolveNone: none}
	if len(want.WorkflowName) > maxName {
		return invalid("workflowName has %d bytes, the limit is %d", len(want.WorkflowName), maxName)
	}
	if want.Statuses, want.NoMatch, err = statuses(q.values["status"]); err != nil {
		return err
	}
	runs, err := s.deps.Store.ListRuns(c.Request().Context(), want)
	if err != nil {
		return err
	}
	return answerPage(s, c, runs, sizes(runs.Data, runSize), writeRun)
}

// statuses reads the repeated status parameter. An empty one stands for an empty list,
// which nothing matches.
func statuses(given []string) (wanted []world.RunStatus, noMatch bool, err error) {
	for _, text := range given {
		switch status := world.RunStatus(text); status {
		case world.RunPending, world.RunRunning, world.RunCompleted, world.RunFailed, world.RunCancelled, world.RunPaused:
			wanted = append(wanted, status)
		case "":
		default:
			return nil, false, invalid("status must be pending, running, completed, failed, cancelled or paused, not %.100q", text)
		}
	}
	return wanted, len(given) > 0 && len(wanted) == 0, nil
}

func runSize(r *world.Run) int {
	return 512 + len(r.WorkflowName) + len(r.DeploymentID) + len(r.ExecutionContext) +
		len(r.Input) + len(r.Output) + len(r.Error) + len(r.Attributes)
}

func writeRun(e *encoder, r *world.Run) {
	o := e.object()
	o.text("runId", r.RunID)
	o.text("status", string(r.Status))
	o.text("deploymentId", r.DeploymentID)
	o.text("workflowName", r.WorkflowName)
	o.optionalWhole("specVersion", r.SpecVersion)
	o.optionalRaw("executionContext", r.ExecutionContext)
	o.optionalRaw("input", r.Input)
	o.optionalRaw("output", r.Output)
	o.optionalRaw("error", r.Error)
	o.optionalText("errorCode", r.ErrorCode)
	o.optionalRaw("attributes", r.Attributes)
	o.optionalText("encryptionPublicKey", r.EncryptionPublicKey)
	o.whole("createdAt", int64(r.CreatedAt))
	o.whole("updatedAt", int64(r.UpdatedAt))
	o.optionalMillis("startedAt", r.StartedAt)
	o.optionalMillis("completedAt", r.CompletedAt)
	o.optionalMillis("expiredAt", r.ExpiredAt)
	o.end()
}

package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// The two queues as the API names them.
const (
	queueFlows = "flows"
	queueSteps = "steps"
)

func queueOf(kind world.Kind) string {
	if kind == world.KindStep {
		return queueSteps
	}
	return queueFlows
}

// kindOf reads the name of a queue.
func kindOf(queue string) (world.Kind, error) {
	switch queue {
	case queueFlows:
		return world.KindFlow, nil
	case queueSteps:
		return world.KindStep, nil
	default:
		return "", invalid("the queue must be flows or steps")
	}
}

// withAdmin serves a route that needs the queue as an operator sees it.
func (s *Server) withAdmin(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.deps.Admin == nil {
			return world.Errorf(world.CodeNotFound, "this service does not show its queue")
		}
		return handle(c)
	}
}

// queueDepths serves GET /v1/queue.
func (s *Server) queueDepths(c echo.Context) error {
	depths, err := s.deps.Admin.QueueDepths(c.Request().Context())
	if err != nil {
		return err
	}
	e := newEncoder(512)
	o := e.object()
	o.key("data")
	e.array(len(depths))
	for _, d := range depths {
		one := e.object()
		one.text("queue", queueOf(d.Kind))
		one.text("name", d.Queue)
		one.flag("paused", d.Paused)
		one.whole("pending", d.Pending)
		one.whole("active", d.Active)
		one.whole("scheduled", d.Scheduled)
		one.whole("retry", d.Retry)
		one.whole("stalled", d.Stalled)
		one.whole("dead", d.Dead)
		one.whole("completed", d.Completed)
		one.optionalMillis("oldestPendingSince", d.Oldest)
		one.end()
	}
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

// listMessages serves GET /v1/queue/messages.
func (s *Server) listMessages(c echo.Context) error {
	q, page, _, err := listQuery(c)
	if err != nil {
		return err
	}
	want := world.MessageQuery{State: world.MessageState(q.values.Get("state")), Page: page}
	if want.State != "" && !slices.Contains(world.MessageStates(), want.State) {
		return invalid("state must be one of %v", world.MessageStates())
	}
	if name := q.values.Get("queue"); name != "" {
		if want.Kind, err = kindOf(name); err != nil {
			return err
		}
	}
	if want.RunID, err = q.id("runId"); err != nil {
		return err
	}
	messages, err := s.deps.Admin.ListMessages(c.Request().Context(), want)
	if err == nil && want.RunID != "" && len(messages.Data) == 0 && !messages.HasMore {
		err = s.checkRun(c.Request().Context(), want.RunID)
	}
	if err != nil {
		return err
	}
	return answerPage(s, c, messages, sizes(messages.Data, messageInfoSize), writeMessageInfo)
}

// getMessage serves GET /v1/queue/messages/{id}.
func (s *Server) getMessage(c echo.Context) error {
	id, err := pathID(c, "messageId")
	if err != nil {
		return err
	}
	info, err := s.deps.Admin.GetMessage(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return answerOne(s, c, &info, messageInfoSize(&info), writeMessageInfo)
}

// runMessages serves GET /v1/runs/{runId}/messages.
func (s *Server) runMessages(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	messages, err := s.deps.Admin.RunMessages(c.Request().Context(), runID)
	if err == nil && len(messages) == 0 {
		err = s.checkRun(c.Request().Context(), runID)
	}
	if err != nil {
		return err
	}
	e := newEncoder(64 + sizes(messages, messageInfoSize))
	o := e.object()
	o.key("data")
	e.array(len(messages))
	for i := range messages {
		writeMessageInfo(e, &messages[i])
	}
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

// pauseQueue serves POST /v1/queue/{queue}/pause, resumeQueue its end.
func (s *Server) pauseQueue(c echo.Context) error {
	return s.switchQueue(c, s.deps.Admin.PauseQueue)
}

func (s *Server) resumeQueue(c echo.Context) error {
	return s.switchQueue(c, s.deps.Admin.ResumeQueue)
}

// checkRun refuses a run that does not exist. It is asked when there is no message: one may be there
// before its run.
func (s *Server) checkRun(ctx context.Context, runID string) error {
	if s.deps.CheckRun == nil {
		return nil
	}
	return s.deps.CheckRun(ctx, runID)
}

func (s *Server) switchQueue(c echo.Context, set func(context.Context, world.Kind) error) error {
	kind, err := kindOf(c.Param("queue"))
	if err != nil {
		return err
	}
	if err := set(c.Request().Context(), kind); err != nil {
		return err
	}
	return s.emptyAnswer(c)
}

func messageInfoSize(m *world.MessageInfo) int {
	return 512 + len(m.QueueName) + len(m.Reason) + len(m.IdempotencyKey) + 2*len(m.DeploymentID)
}

func writeMessageInfo(e *encoder, m *world.MessageInfo) {
	o := e.object()
	o.text("messageId", m.MessageID)
	o.text("queue", queueOf(m.Kind))
	o.text("state", string(m.State))
	o.optionalText("queueName", m.QueueName)
	o.optionalText("runId", m.RunID)
	o.optionalText("stepId", m.StepID)
	o.optionalText("deploymentId", m.DeploymentID)
	o.optionalText("idempotencyKey", m.IdempotencyKey)
	o.optionalMillis("enqueuedAt", m.EnqueuedAt)
	o.optionalMillis("nextAt", m.NextAt)
	o.optionalMillis("endedAt", m.EndedAt)
	o.whole("attempt", int64(m.Attempt))
	o.whole("failed", int64(m.Failed))
	o.whole("rescheduled", int64(m.Rescheduled))
	o.optionalText("reason", m.Reason)
	o.optionalText("waitsFor", m.WaitsFor)
	o.whole("size", int64(m.Size))
	o.optionalText("contentType", m.ContentType)
	o.end()
}

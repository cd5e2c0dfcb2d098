package httpapi

import (
	"context"
	"slices"

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

// withAdmin serves an operation that needs the queue as an operator sees it.
func withAdmin(serve serveFunc) serveFunc {
	return func(ctx context.Context, a *api, r *request) (*encoder, error) {
		if a.deps.Admin == nil {
			return nil, world.Errorf(world.CodeNotFound, "this service does not show its queue")
		}
		return serve(ctx, a, r)
	}
}

func (a *api) queueDepths(ctx context.Context, _ nothing) ([]world.QueueDepth, error) {
	return a.deps.Admin.QueueDepths(ctx)
}

func encodeDepths(e *encoder, depths []world.QueueDepth) {
	o := e.object()
	encodeData(e, &o, depths, writeDepth)
	o.end()
}

func writeDepth(e *encoder, d *world.QueueDepth) {
	o := e.object()
	o.text("queue", queueOf(d.Kind))
	o.text("name", d.Queue)
	o.flag("paused", d.Paused)
	o.whole("pending", d.Pending)
	o.whole("active", d.Active)
	o.whole("scheduled", d.Scheduled)
	o.whole("retry", d.Retry)
	o.whole("stalled", d.Stalled)
	o.whole("dead", d.Dead)
	o.whole("completed", d.Completed)
	o.optionalMillis("oldestPendingSince", d.Oldest)
	o.end()
}

func decodeMessages(r *request) (world.MessageQuery, error) {
	want := world.MessageQuery{Page: r.page()}
	r.resolveNone() // which every list has
	want.State = world.MessageState(r.query().Get("state"))
	if want.State != "" && !slices.Contains(world.MessageStates(), want.State) {
		r.fail(invalid("state must be one of %v", world.MessageStates()))
	}
	if name := r.query().Get("queue"); name != "" {
		var err error
		if want.Kind, err = kindOf(name); err != nil {
			r.fail(err)
		}
	}
	want.RunID = r.queryID("runId")
	return want, r.err
}

func (a *api) listMessages(ctx context.Context, want world.MessageQuery) (world.Page[world.MessageInfo], error) {
	messages, err := a.deps.Admin.ListMessages(ctx, want)
	if err == nil && want.RunID != "" && len(messages.Data) == 0 && !messages.HasMore {
		err = a.checkRun(ctx, want.RunID)
	}
	return messages, err
}

func (a *api) getMessage(ctx context.Context, id string) (world.MessageInfo, error) {
	return a.deps.Admin.GetMessage(ctx, id)
}

func (a *api) runMessages(ctx context.Context, runID string) ([]world.MessageInfo, error) {
	messages, err := a.deps.Admin.RunMessages(ctx, runID)
	if err == nil && len(messages) == 0 {
		err = a.checkRun(ctx, runID)
	}
	return messages, err
}

func encodeRunMessages(e *encoder, messages []world.MessageInfo) {
	e.grow(64 + sizes(messages, messageInfoSize))
	o := e.object()
	encodeData(e, &o, messages, writeMessageInfo)
	o.end()
}

// checkRun refuses a run that does not exist. It is asked when there is no message: one may be there
// before its run.
func (a *api) checkRun(ctx context.Context, runID string) error {
	if a.deps.CheckRun == nil {
		return nil
	}
	return a.deps.CheckRun(ctx, runID)
}

// decodeQueue reads which queue is to be paused or resumed.
func decodeQueue(r *request) (world.Kind, error) {
	name, _ := r.from.param("queue")
	return kindOf(name)
}

func (a *api) pauseQueue(ctx context.Context, kind world.Kind) (nothing, error) {
	return nothing{}, a.deps.Admin.PauseQueue(ctx, kind)
}

func (a *api) resumeQueue(ctx context.Context, kind world.Kind) (nothing, error) {
	return nothing{}, a.deps.Admin.ResumeQueue(ctx, kind)
}

func messageInfoSize(m *world.MessageInfo) int {
	return 512 + len(m.QueueName) + len(m.Reason) + len(m.IdempotencyKey) + 2*len(m.DeploymentID)
}

func encodeMessageInfo(e *encoder, m world.MessageInfo) {
	e.grow(messageInfoSize(&m) + 128)
	writeMessageInfo(e, &m)
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

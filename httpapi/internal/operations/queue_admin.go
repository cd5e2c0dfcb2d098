package operations

import (
	"context"
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
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
		return "", refuse.Invalid("the queue must be flows or steps")
	}
}

// withAdmin serves an operation that needs Deps.Admin.
func withAdmin(serve serveFunc) serveFunc {
	return func(ctx context.Context, a *API, r *input.Request) (*wire.Encoder, error) {
		if a.Deps.Admin == nil {
			return nil, world.Errorf(world.CodeNotFound, "this service does not show its queue")
		}
		return serve(ctx, a, r)
	}
}

func (a *API) queueDepths(ctx context.Context, _ nothing) ([]world.QueueDepth, error) {
	return a.Deps.Admin.QueueDepths(ctx)
}

func encodeDepths(e *wire.Encoder, depths []world.QueueDepth) {
	o := e.Object()
	encodeData(e, &o, depths, writeDepth)
	o.End()
}

func writeDepth(e *wire.Encoder, d *world.QueueDepth) {
	o := e.Object()
	o.Text("queue", queueOf(d.Kind))
	o.Text("name", d.Queue)
	o.Flag("paused", d.Paused)
	o.Whole("pending", d.Pending)
	o.Whole("active", d.Active)
	o.Whole("scheduled", d.Scheduled)
	o.Whole("retry", d.Retry)
	o.Whole("stalled", d.WaitingForApp)
	o.Whole("dead", d.Dead)
	o.Whole("completed", d.Completed)
	o.OptionalMillis("oldestPendingSince", d.Oldest)
	o.End()
}

func decodeMessages(r *input.Request) (world.MessageQuery, error) {
	want := world.MessageQuery{Page: r.Page()}
	r.ResolveNone() // all lists accept it
	want.State = world.MessageState(r.Query().Get("state"))
	if want.State != "" && !slices.Contains(world.MessageStates(), want.State) {
		r.Fail(refuse.Invalid("state must be one of %v", world.MessageStates()))
	}
	if name := r.Query().Get("queue"); name != "" {
		var err error
		if want.Kind, err = kindOf(name); err != nil {
			r.Fail(err)
		}
	}
	want.RunID = r.QueryID("runId")
	return want, r.Err
}

func (a *API) listMessages(ctx context.Context, want world.MessageQuery) (world.Page[world.MessageInfo], error) {
	messages, err := a.Deps.Admin.ListMessages(ctx, want)
	if err == nil && want.RunID != "" && len(messages.Data) == 0 && !messages.HasMore {
		err = a.checkRun(ctx, want.RunID)
	}
	return messages, err
}

func (a *API) getMessage(ctx context.Context, id string) (world.MessageInfo, error) {
	return a.Deps.Admin.GetMessage(ctx, id)
}

func (a *API) runMessages(ctx context.Context, runID string) ([]world.MessageInfo, error) {
	messages, err := a.Deps.Admin.RunMessages(ctx, runID)
	if err == nil && len(messages) == 0 {
		err = a.checkRun(ctx, runID)
	}
	return messages, err
}

func encodeRunMessages(e *wire.Encoder, messages []world.MessageInfo) {
	e.Grow(64 + wire.Sizes(messages, messageInfoSize))
	o := e.Object()
	encodeData(e, &o, messages, writeMessageInfo)
	o.End()
}

// checkRun refuses a run that does not exist. It is called only if there is no message, because a message may exist
// before its run.
func (a *API) checkRun(ctx context.Context, runID string) error {
	if a.Deps.CheckRun == nil {
		return nil
	}
	return a.Deps.CheckRun(ctx, runID)
}

// decodeQueue reads the queue to pause or resume.
func decodeQueue(r *input.Request) (world.Kind, error) {
	name, _ := r.From.Param("queue")
	return kindOf(name)
}

func (a *API) pauseQueue(ctx context.Context, kind world.Kind) (nothing, error) {
	return nothing{}, a.Deps.Admin.PauseQueue(ctx, kind)
}

func (a *API) resumeQueue(ctx context.Context, kind world.Kind) (nothing, error) {
	return nothing{}, a.Deps.Admin.ResumeQueue(ctx, kind)
}

func messageInfoSize(m *world.MessageInfo) int {
	return 512 + len(m.QueueName) + len(m.Reason) + len(m.IdempotencyKey) + 2*len(m.DeploymentID)
}

func encodeMessageInfo(e *wire.Encoder, m world.MessageInfo) {
	e.Grow(messageInfoSize(&m) + 128)
	writeMessageInfo(e, &m)
}

func writeMessageInfo(e *wire.Encoder, m *world.MessageInfo) {
	o := e.Object()
	o.Text("messageId", m.MessageID)
	o.Text("queue", queueOf(m.Kind))
	o.Text("state", string(m.State))
	o.OptionalText("queueName", m.QueueName)
	o.OptionalText("runId", m.RunID)
	o.OptionalText("stepId", m.StepID)
	o.OptionalText("deploymentId", m.DeploymentID)
	o.OptionalText("idempotencyKey", m.IdempotencyKey)
	o.OptionalMillis("enqueuedAt", m.EnqueuedAt)
	o.OptionalMillis("nextAt", m.NextAt)
	o.OptionalMillis("endedAt", m.EndedAt)
	o.Whole("attempt", int64(m.Attempt))
	o.Whole("failed", int64(m.Failed))
	o.Whole("rescheduled", int64(m.Rescheduled))
	o.OptionalText("reason", m.Reason)
	o.OptionalText("waitsFor", m.WaitsFor)
	o.Whole("size", int64(m.Size))
	o.OptionalText("contentType", m.ContentType)
	o.End()
}

package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *API) lostCalls(ctx context.Context, page world.PageRequest) (world.Page[world.AnsweredCall], error) {
	if a.Deps.Lost == nil {
		return world.Page[world.AnsweredCall]{}, world.Errorf(world.CodeNotFound, "this service does not look for lost calls")
	}
	return a.Deps.Lost(ctx, page)
}

func answeredCallSize(a *world.AnsweredCall) int {
	return 256 + len(a.WorkflowName) + len(a.HookID) + len(a.Token) + len(a.ResumeID)
}

func writeAnsweredCall(e *wire.Encoder, a *world.AnsweredCall) {
	o := e.Object()
	o.Text("kind", string(a.Kind))
	o.OptionalMillis("answeredAt", a.At)
	o.Text("runId", a.RunID)
	o.OptionalText("workflowName", a.WorkflowName)
	o.OptionalText("eventId", a.EventID)
	o.OptionalText("hookId", a.HookID)
	o.OptionalText("token", a.Token)
	o.OptionalText("resumeId", a.ResumeID)
	o.End()
}

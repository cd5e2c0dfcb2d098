package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
)

func (a *api) lostCalls(ctx context.Context, page world.PageRequest) (world.Page[world.AnsweredCall], error) {
	if a.deps.Lost == nil {
		return world.Page[world.AnsweredCall]{}, world.Errorf(world.CodeNotFound, "this service does not look for lost calls")
	}
	return a.deps.Lost(ctx, page)
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

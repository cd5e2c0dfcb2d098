package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

func (a *API) getRun(ctx context.Context, ref entityRef) (world.Run, error) {
	return a.Deps.Store.GetRun(ctx, ref.id, ref.none)
}

func decodeRuns(r *input.Request) (world.RunQuery, error) {
	want := world.RunQuery{Page: r.Page(), ResolveNone: r.ResolveNone(), WorkflowName: r.Query().Get("workflowName")}
	if len(want.WorkflowName) > input.MaxName {
		r.Fail(refuse.Invalid("workflowName has %d bytes, the limit is %d", len(want.WorkflowName), input.MaxName))
	}
	var err error
	if want.Statuses, want.NoMatch, err = statuses(r.Query()["status"]); err != nil {
		r.Fail(err)
	}
	return want, r.Err
}

// statuses reads the parameter status, which may be repeated. An empty value stands for an empty list,
// which matches nothing.
func statuses(given []string) (wanted []world.RunStatus, noMatch bool, err error) {
	for _, text := range given {
		switch status := world.RunStatus(text); status {
		case world.RunPending, world.RunRunning, world.RunCompleted, world.RunFailed, world.RunCancelled, world.RunPaused:
			wanted = append(wanted, status)
		case "":
		default:
			return nil, false, refuse.Invalid("status must be pending, running, completed, failed, cancelled or paused, not %.100q", text)
		}
	}
	return wanted, len(given) > 0 && len(wanted) == 0, nil
}

func encodeRun(e *wire.Encoder, r world.Run) {
	e.Grow(wire.RunSize(&r) + 128)
	wire.Run(e, &r)
}

package operations

import (
	"context"
	"strconv"

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
	want.CreatedFrom, want.CreatedBefore = readMillis(r, "createdFrom"), readMillis(r, "createdBefore")
	var err error
	if want.Statuses, want.NoMatch, err = statuses(r.Query()["status"]); err != nil {
		r.Fail(err)
	}
	return want, r.Err
}

// readMillis reads a timestamp of a query; 0 if it is absent.
func readMillis(r *input.Request, name string) world.Millis {
	if !r.Query().Has(name) {
		return 0
	}
	ms, err := strconv.ParseInt(r.Query().Get(name), 10, 64)
	if err != nil || ms <= 0 || ms > maxTime {
		r.Fail(refuse.Invalid("%s must be a timestamp in epoch milliseconds", name))
		return 0
	}
	return world.Millis(ms)
}

// maxTime is the largest time of a JavaScript Date, in ms.
const maxTime = 8_640_000_000_000_000

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

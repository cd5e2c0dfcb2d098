package recovery

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
)

// Waker wakes runs for an operator, with the same wake-up as for a forgotten run.
type Waker struct {
	Store  world.RunStore
	Queue  WakeQueue
	Logger *slog.Logger
}

// WakeRun implements world.RunWaker.
func (w Waker) WakeRun(ctx context.Context, runID string) (world.RunWake, error) {
	run, err := w.Store.GetRun(ctx, runID, true)
	if err != nil {
		return world.RunWake{}, err
	}
	if run.Status.Terminal() {
		return world.RunWake{}, &world.Error{
			Code: world.CodeRunExpired, RunID: runID, Message: "Run " + runID + " has ended (" + string(run.Status) + "): a wake-up would change nothing",
		}
	}
	m, err := wakeUp(ctx, w.Queue, run)
	if err != nil {
		return world.RunWake{}, err
	}
	id, err := w.Queue.Enqueue(ctx, m)
	if err != nil {
		return world.RunWake{}, err
	}
	w.Logger.InfoContext(ctx, "an operator woke a run", slog.String("run_id", runID), slog.String("workflow", run.WorkflowName), slog.String("message", id))
	return world.RunWake{Run: run, MessageID: id}, nil
}

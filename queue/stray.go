package queue

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// isStray reports whether a message that an app refused is for a run or a step that does not exist. Then it
// is done. If that is not known, the message is treated as any other.
func (w *worker) isStray(d *delivery, m world.Message, out world.Outcome) bool {
	if w.q.cfg.Stray == nil || m.RunID == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	about := []any{
		slog.String("message", d.ID), slog.String("run_id", m.RunID), slog.String("step_id", m.StepID), slog.String("answer", out.Reason),
	}
	reason, err := w.q.cfg.Stray(ctx, d.ID, m)
	switch {
	case err != nil:
		w.log.Debug("it is not known whether the run and the step of a message exist; the message is delivered again", append(about, slog.Any("error", err))...)
		return false
	case reason == "":
		return false
	}
	what := "a message for a step"
	if m.StepID == "" {
		what = "a message of a run"
	}
	w.log.Info(what+" is dropped: "+reason, about...)
	return true
}

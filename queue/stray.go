package queue

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
)

// isStray reports whether a message that an app refused is for a run or a step that does not exist, so that
// it is done. While that cannot be found out the message is like any other.
func (l *lane) isStray(c *claim, m world.Message, out world.Outcome) bool {
	if l.q.cfg.Stray == nil || m.RunID == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(l.q.lasting, redisTimeout)
	defer cancel()
	about := []any{
		slog.String("message", c.id), slog.String("run_id", m.RunID), slog.String("step_id", m.StepID), slog.String("answer", out.Reason),
	}
	reason, err := l.q.cfg.Stray(ctx, c.id, m)
	switch {
	case err != nil:
		l.log.Debug("it is not known whether the run and the step of a message exist; the message is delivered again", append(about, slog.Any("error", err))...)
		return false
	case reason == "":
		return false
	}
	what := "a message for a step"
	if m.StepID == "" {
		what = "a message of a run"
	}
	l.log.Info(what+" is dropped: "+reason, about...)
	return true
}

package queue

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
)

// stepMissing reports whether a message that an app refused is for a step that does not exist, so that
// it is done. While that cannot be found out the message is like any other.
func (l *lane) stepMissing(c *claim, m world.Message, out world.Outcome) bool {
	if l.q.cfg.StepMissing == nil || m.RunID == "" || m.StepID == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(l.q.lasting, redisTimeout)
	defer cancel()
	about := []any{
		slog.String("message", c.id), slog.String("run", m.RunID), slog.String("step", m.StepID), slog.String("answer", out.Reason),
	}
	reason, err := l.q.cfg.StepMissing(ctx, c.id, m)
	switch {
	case err != nil:
		l.log.Debug("it is not known whether the step of a message exists; the message is delivered again", append(about, slog.Any("error", err))...)
		return false
	case reason == "":
		return false
	}
	l.log.Info("a message for a step is dropped: "+reason, about...)
	return true
}

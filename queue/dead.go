package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
)

// Death is why a message is set aside as dead.
type Death string

// The deaths.
const (
	Undeliverable Death = "undeliverable" // the app refused it too often, or it cannot be read
	NoApp         Death = "no app"        // none of its deployment is alive, and the policy is Fail
	TooLarge      Death = "too large"     // its run has a value that the service does not take
	Fatal         Death = "fatal"         // the app's process ends at each delivery of it
)

// runDeadTimeout bounds what the run of a dead message is given to be failed.
const runDeadTimeout = 10 * time.Second

// dead sets a message aside, after its run has been told.
func (l *lane) dead(c *claim, m world.Message, why Death, reason string) outcome {
	if world.IsHealthCheck(m.QueueName) {
		return l.dropHealthCheck(c, reason)
	}
	if o, ok := l.tellRun(c, m, why, reason); !ok {
		return o
	}
	defer l.runEnded(m)
	l.q.health.SetAside(c.id)
	l.log.Error("a message is set aside as undeliverable", slog.String("message", c.id), slog.String("run_id", m.RunID),
		slog.String("step_id", m.StepID), slog.Int("failed", c.failed+1), slog.String("reason", reason))
	return outcome{disposition: dispositionDead, reason: reason}
}

// tooLarge ends a run that cannot go on. Its message is done with that: redriving it would
// come to the same.
func (l *lane) tooLarge(c *claim, m world.Message, out world.Outcome) outcome {
	if l.q.cfg.RunDead == nil || m.RunID == "" {
		return l.failed(c, m, out)
	}
	if o, ok := l.tellRun(c, m, TooLarge, out.Reason); !ok {
		return o
	}
	defer l.runEnded(m)
	l.log.Error("a run was failed, because it has a value that is too large", slog.String("message", c.id), slog.String("run_id", m.RunID),
		slog.String("step_id", m.StepID), slog.String("reason", out.Reason))
	return outcome{disposition: dispositionDone}
}

// tellRun has the run of a message failed. If that cannot be done now, o is what becomes of
// the message until it can.
func (l *lane) tellRun(c *claim, m world.Message, why Death, reason string) (o outcome, ok bool) {
	if l.q.cfg.RunDead == nil || m.RunID == "" {
		return outcome{}, true
	}
	ctx, cancel := context.WithTimeout(l.q.lasting, runDeadTimeout)
	defer cancel()
	if err := l.q.cfg.RunDead(ctx, m, why, reason); err != nil {
		l.log.Warn("a message cannot be delivered, and its run could not be told; it is tried again",
			slog.String("message", c.id), slog.String("run_id", m.RunID), slog.String("reason", reason), slog.Any("error", err))
		return outcome{disposition: dispositionFailed, due: l.q.dueIn(l.q.cfg.Backoff.Failed(c.failed+1, 0)), reason: reason}, false
	}
	return outcome{}, true
}

func (l *lane) runEnded(m world.Message) {
	if l.q.cfg.RunDead != nil && m.RunID != "" {
		l.q.ForgetRun(m.RunID)
	}
}

package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
)

// cutHold is how long an app that a delivery was begun with may take to notice that we cut
// it, before it gets the message again.
const cutHold = 500 * time.Millisecond

func (l *lane) judge(c *claim, baseURL string, m world.Message, out world.Outcome, lasted time.Duration) (o outcome, reached string) {
	l.log.Debug("delivered", slog.String("message", c.id), slog.String("run_id", m.RunID), slog.Int("attempt", c.attempt()),
		slog.Int("verdict", int(out.Verdict)), slog.Int("status", out.Status), slog.Duration("delay", out.Delay))
	switch {
	case out.Verdict == world.Done:
		l.q.health.Accepted(l.kind, baseURL, c.id)
		l.lookedAt(c, m, out)
		return outcome{disposition: dispositionDone}, baseURL
	case out.Verdict == world.Reschedule:
		l.q.health.Accepted(l.kind, baseURL, c.id)
		return outcome{disposition: dispositionRescheduled, due: l.q.dueIn(l.patience(c, m, out.Delay))}, baseURL
	case out.Verdict == world.TooLarge:
		l.q.health.Accepted(l.kind, baseURL, c.id)
		return l.tooLarge(c, m, out), baseURL
	case c.ctx.Err() != nil: // cut by ourselves
		if errors.Is(context.Cause(c.ctx), errShutdown) {
			l.log.Warn("a delivery was cut at shutdown; another one will be made",
				slog.String("message", c.id), slog.String("run_id", m.RunID), slog.String("step_id", m.StepID))
		}
		o = outcome{disposition: dispositionReleased, reason: context.Cause(c.ctx).Error(), app: baseURL, hold: cutHold}
		if out.Verdict == world.Unreachable && !out.Sent {
			o.unseen, o.hold = true, 0
		}
		return o, ""
	case out.Verdict == world.Failed && l.isStray(c, m, out):
		return outcome{disposition: dispositionDone}, baseURL
	case out.Verdict == world.Failed:
		l.q.health.Refused(l.kind, baseURL, c.id, out)
		return l.failed(c, m, out), baseURL
	case out.NoApp:
		wait := l.q.health.Wrong(baseURL, out.Reason)
		return outcome{disposition: dispositionWaitingForApp, due: l.q.dueIn(wait), reason: out.Reason, unseen: true}, ""
	case out.Between:
		return l.answeredBetween(c, baseURL, out), ""
	case out.Sent:
		return l.broke(c, baseURL, m, out, lasted), ""
	default:
		wait := l.q.health.Unreachable(baseURL, out.Reason)
		return outcome{disposition: dispositionWaitingForApp, due: l.q.dueIn(wait), reason: out.Reason, unseen: true}, ""
	}
}

// A message that its app puts off again and again, without any wait, would keep both of
// them busy for ever: after so many times it waits a little, and the log says so.
const (
	manyReschedules = 1000
	rescheduleWait  = time.Second
)

func (l *lane) patience(c *claim, m world.Message, asked time.Duration) time.Duration {
	moves := c.rescheduled + 1
	if moves < manyReschedules {
		return asked
	}
	if moves%manyReschedules == 0 {
		l.log.Warn("the app puts a message off over and over", slog.String("message", c.id), slog.String("run_id", m.RunID),
			slog.String("step_id", m.StepID), slog.Int("times", moves))
	}
	return max(asked, rescheduleWait)
}

// failed charges a delivery, and sets the message aside when it was one too many.
func (l *lane) failed(c *claim, m world.Message, out world.Outcome) outcome {
	n := c.failed + 1
	if n >= l.q.cfg.Backoff.DeadAfter {
		return l.dead(c, m, Undeliverable, out.Reason)
	}
	return outcome{disposition: dispositionFailed, due: l.q.dueIn(l.q.cfg.Backoff.Failed(n, out.Delay)), reason: out.Reason}
}

package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// cutHold is how long an app may take to notice that the service has cut a delivery, before it gets the message again.
const cutHold = 500 * time.Millisecond

// decide returns what becomes of a message after a delivery with this outcome. reached is the address of the app if it has answered.
func (w *worker) decide(d *delivery, app world.App, m world.Message, out world.Outcome, lasted time.Duration) (decision lane.Decision, reached string) {
	baseURL := app.BaseURL
	w.log.Debug("delivered", slog.String("message", d.ID), slog.String("run_id", m.RunID), slog.Int("attempt", d.Attempt()),
		slog.Int("verdict", int(out.Verdict)), slog.Int("status", out.Status), slog.Duration("delay", out.Delay))
	switch {
	case out.Verdict == world.Done:
		w.q.health.Accepted(w.Kind, baseURL, d.ID)
		w.lookedAt(d, m, out)
		return lane.Decision{Disposition: lane.Done}, baseURL
	case out.Verdict == world.Reschedule:
		w.q.health.Accepted(w.Kind, baseURL, d.ID)
		return lane.Decision{Disposition: lane.Rescheduled, Due: w.q.dueIn(w.rescheduleDelay(d, m, out.Delay))}, baseURL
	case out.Verdict == world.TooLarge:
		w.q.health.Accepted(w.Kind, baseURL, d.ID)
		return w.tooLarge(d, m, out), baseURL
	case d.Context().Err() != nil: // the service has cut it
		if errors.Is(context.Cause(d.Context()), errShutdown) {
			w.log.Warn("a delivery was cut at shutdown; another one will be made",
				slog.String("message", d.ID), slog.String("run_id", m.RunID), slog.String("step_id", m.StepID))
		}
		decision = lane.Decision{Disposition: lane.Released, Reason: context.Cause(d.Context()).Error(), App: baseURL, Hold: cutHold}
		if out.Verdict == world.Unreachable && !out.Sent {
			decision.Unseen, decision.Hold = true, 0
		}
		return decision, ""
	case out.Verdict == world.Failed:
		if decision, late := w.tooLate(d, m); late {
			return decision, baseURL
		}
		if w.isStray(d, m, out) {
			return lane.Decision{Disposition: lane.Done}, baseURL
		}
		w.q.health.Refused(w.Kind, baseURL, d.ID, out)
		return w.failed(d, m, out), baseURL
	case out.NoApp:
		wait := w.q.health.Wrong(baseURL, out.Reason)
		return lane.Decision{Disposition: lane.WaitingForApp, Due: w.q.dueIn(wait), Reason: out.Reason, Unseen: true}, ""
	case out.Misdirected:
		wait := w.q.health.Misdirected(app, out.Reason)
		return lane.Decision{Disposition: lane.WaitingForApp, Due: w.q.dueIn(wait), Reason: out.Reason, Unseen: true}, ""
	case out.Between:
		return w.answeredBetween(d, baseURL, out), ""
	case out.Sent:
		return w.broke(d, baseURL, m, out, lasted), ""
	default:
		wait := w.q.health.Unreachable(baseURL, out.Reason)
		return lane.Decision{Disposition: lane.WaitingForApp, Due: w.q.dueIn(wait), Reason: out.Reason, Unseen: true}, ""
	}
}

// A message that its app reschedules again and again, without a delay, would keep both of
// them busy forever. After manyReschedules it waits a little each time, and the log says so.
const (
	manyReschedules = 1000
	rescheduleWait  = time.Second
)

// rescheduleDelay is the delay that the app asked for, or more if it has asked too often.
func (w *worker) rescheduleDelay(d *delivery, m world.Message, asked time.Duration) time.Duration {
	times := d.Rescheduled + 1
	if times < manyReschedules {
		return asked
	}
	if times%manyReschedules == 0 {
		w.log.Warn("the app reschedules a message again and again; see why its run makes no progress", slog.String("message", d.ID), slog.String("run_id", m.RunID),
			slog.String("step_id", m.StepID), slog.Int("times", times))
	}
	return max(asked, rescheduleWait)
}

// failed charges a failed delivery, and sets the message aside after too many.
func (w *worker) failed(d *delivery, m world.Message, out world.Outcome) lane.Decision {
	n := d.Failed + 1
	if n >= w.q.cfg.Backoff.DeadAfter {
		return w.dead(d, m, Undeliverable, out.Reason)
	}
	return lane.Decision{Disposition: lane.Failed, Due: w.q.dueIn(w.q.cfg.Backoff.Failed(n, out.Delay)), Reason: out.Reason}
}

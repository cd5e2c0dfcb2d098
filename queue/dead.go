package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// Death is why a message is dead-lettered, or its run is failed.
type Death string

// Why a message is dead.
const (
	Undeliverable Death = "undeliverable" // the app refused it too often, or it cannot be decoded
	NoApp         Death = "no app"        // no app of its deployment is alive, and the policy is Fail
	TooLarge      Death = "too large"     // its run has a value that the service does not accept
	Fatal         Death = "fatal"         // the app's process ends at each delivery of it
)

// runDeadTimeout is how long failing the run of a dead message may take.
const runDeadTimeout = 10 * time.Second

// dead sets a message aside, after its run was failed.
func (w *worker) dead(d *delivery, m world.Message, why Death, reason string) lane.Decision {
	if world.IsHealthCheck(m.QueueName) {
		return w.dropHealthCheck(d, reason)
	}
	if decision, ok := w.failRun(d, m, why, reason); !ok {
		return decision
	}
	defer w.runEnded(m)
	w.q.health.SetAside(d.ID)
	w.log.Error("a message is set aside as undeliverable", slog.String("message", d.ID), slog.String("run_id", m.RunID),
		slog.String("step_id", m.StepID), slog.Int("failed", d.Failed+1), slog.String("reason", reason))
	return lane.Decision{Disposition: lane.Dead, Reason: reason}
}

// tooLarge fails a run that cannot continue. Then its message is done, because redriving it would
// have the same result.
func (w *worker) tooLarge(d *delivery, m world.Message, out world.Outcome) lane.Decision {
	if w.q.cfg.RunDead == nil || m.RunID == "" {
		return w.failed(d, m, out)
	}
	if decision, ok := w.failRun(d, m, TooLarge, out.Reason); !ok {
		return decision
	}
	defer w.runEnded(m)
	w.log.Error("a run was failed, because it has a value that is too large", slog.String("message", d.ID), slog.String("run_id", m.RunID),
		slog.String("step_id", m.StepID), slog.String("reason", out.Reason))
	return lane.Decision{Disposition: lane.Done}
}

// failRun fails the run of a message. If that is not possible now, decision is what becomes of
// the message until it is.
func (w *worker) failRun(d *delivery, m world.Message, why Death, reason string) (decision lane.Decision, ok bool) {
	if w.q.cfg.RunDead == nil || m.RunID == "" {
		return lane.Decision{}, true
	}
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, runDeadTimeout)
	defer cancel()
	if err := w.q.cfg.RunDead(ctx, m, why, reason); err != nil {
		w.log.Warn("a message cannot be delivered, and its run could not be failed; it is tried again",
			slog.String("message", d.ID), slog.String("run_id", m.RunID), slog.String("reason", reason), slog.Any("error", err))
		return lane.Decision{Disposition: lane.Failed, Due: w.q.dueIn(w.q.cfg.Backoff.Failed(d.Failed+1, 0)), Reason: reason}, false
	}
	return lane.Decision{}, true
}

func (w *worker) runEnded(m world.Message) {
	if w.q.cfg.RunDead != nil && m.RunID != "" {
		w.q.ForgetRun(m.RunID)
	}
}

package queue

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// A connection that breaks during a delivery is not charged to the message: proxies cut
// connections, and processes end. But if the process has ended, the message may be the cause: a
// workflow that runs out of memory ends its process at each delivery, and all other work of the process. Such a break
// is a crash. Each message counts its crashes until an app answers; suspects.go uses the counts.

// trouble is what a message knows of crashes.
type trouble struct {
	read    bool
	crashes int           // in a row
	counted int           // crashes while the app had no other suspect
	longest time.Duration // the longest delivery that ended in a crash
	lasted  time.Duration // all deliveries that ended in a crash
	app     string        // the app whose suspect it is, or whose next suspect is delivered after it
	follow  *time.Timer   // when the next suspect may be delivered although this delivery has not ended
}

// readTrouble reads the trouble of a message once. Only a message that an app has perhaps begun has any.
func (w *worker) readTrouble(d *delivery) error {
	if d.App == "" || d.trouble.read {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.Context(), lane.RedisTimeout)
	defer cancel()
	var f struct {
		Crashes int   `redis:"crashes"`
		Counted int   `redis:"counted"`
		Longest int64 `redis:"longest"`
		Lasted  int64 `redis:"lasted"`
	}
	if err := w.q.redis.HMGet(ctx, w.Keys.Task+d.ID, "crashes", "counted", "longest", "lasted").Scan(&f); err != nil {
		return fmt.Errorf("read the crashes of a message: %w", err)
	}
	d.trouble = trouble{
		read: true, crashes: f.Crashes, counted: f.Counted,
		longest: time.Duration(f.Longest) * time.Millisecond, lasted: time.Duration(f.Lasted) * time.Millisecond,
	}
	return nil
}

// broke decides about a message whose connection broke after so long. If the app's process still runs, only this message
// waits; otherwise it is a crash.
func (w *worker) broke(d *delivery, app string, m world.Message, out world.Outcome, lasted time.Duration) lane.Decision {
	decision := lane.Decision{Disposition: lane.WaitingForApp, Due: w.q.dueIn(w.q.cfg.Backoff.Unreachable(2)), Reason: out.Reason, App: app}
	if !w.q.crashes.processEnded(w.q.phases.Delivering, app) {
		w.q.health.Broke(app, d.ID, m, out.Reason)
		return decision
	}
	t := &d.trouble
	t.crashes++
	t.longest, t.lasted = max(t.longest, lasted), t.lasted+lasted
	w.log.Debug("the app's process ended during a delivery; it is made again", slog.String("message", d.ID), slog.String("run_id", m.RunID),
		slog.String("step_id", m.StepID), slog.Int("in a row", t.crashes), slog.String("app", app))
	if err := w.noteCrash(d, app); err != nil {
		w.log.Debug("a crash is not counted", slog.String("message", d.ID), slog.Any("error", err))
		return decision
	}
	decision.Reason = fmt.Sprintf("the app's process ended during this delivery, %d times in a row; %s", t.crashes, out.Reason)
	if w.Kind != world.KindFlow {
		return decision
	}
	b := w.q.cfg.Backoff
	if t.counted >= b.CrashesMost {
		return w.fatal(d, app, m)
	}
	if wait := b.Crashed(t.counted); wait > 0 {
		// Not WaitingForApp: a registration must not end this wait.
		decision.Disposition, decision.Due = lane.Released, w.q.dueIn(wait)
	}
	return decision
}

// noteCrash counts a crash in Redis.
func (w *worker) noteCrash(d *delivery, app string) error {
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	reply, err := w.q.scripts.Crashed.Run(ctx, w.q.redis,
		[]string{w.Keys.Task + d.ID, w.interruptedKey(app), w.suspectKey(app)},
		d.ID, d.Owner, d.trouble.crashes, d.trouble.longest.Milliseconds(), suspectKept.Seconds(), d.trouble.lasted.Milliseconds())
	if err != nil {
		return err
	}
	if len(reply) < 2 || reply[0] != int64(1) {
		return nil // another process has the message
	}
	counted, err := luascript.Int(reply[1])
	d.trouble.counted = int(counted)
	return err
}

// fatal fails the run of a message that ends the app's process at each delivery. Then the message is done,
// because redriving it would have the same result.
func (w *worker) fatal(d *delivery, app string, m world.Message) lane.Decision {
	reason := fmt.Sprintf("the app's process ended %d times during this delivery", d.trouble.counted)
	if w.q.cfg.RunDead == nil || m.RunID == "" {
		w.cleared(d, app)
		return w.dead(d, m, Fatal, reason)
	}
	if decision, ok := w.failRun(d, m, Fatal, reason); !ok {
		decision.Disposition = lane.Released
		return decision
	}
	defer w.runEnded(m)
	w.log.Error("a run was failed, because the app's process ended again and again while its workflow ran; look for what it does there, such as using up the memory",
		slog.String("message", d.ID), slog.String("run_id", m.RunID), slog.String("queue name", m.QueueName), slog.String("app", app), slog.Int("times", d.trouble.counted))
	w.cleared(d, app)
	return lane.Decision{Disposition: lane.Done}
}

func (w *worker) interruptedKey(app string) string { return w.Keys.Interrupted + rediskey.Part(app) }
func (w *worker) suspectKey(app string) string     { return w.Keys.Suspect + rediskey.Part(app) }

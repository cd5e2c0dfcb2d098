package queue

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/queue/internal/lane"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// The cost of a replay in SDK v4 grows with the cube of the open steps: 0.1 s with a hundred, a minute with a
// thousand. It blocks the app's event loop for that long, and with it the steps, so every
// few steps that end would cause another replay of nearly as many. After such a long
// delivery a run cools down: its next wake-up is not delivered before its outstanding steps have
// ended, or as much time has passed as the delivery took. So replays never take more than half of the time.
//
// A run with few steps has no cooldown, however slow its app is: one replay per step
// is cheap, and its sleeps and races must be on time.
const (
	cooldownAfter   = time.Second
	cooldownSteps   = 50
	cooldownLongest = 2 * time.Minute
	// cooldownLook is how often the steps of such a run are counted; its delivery took at least ten times as long.
	cooldownLook = 100 * time.Millisecond
	// cooldownLease is how long a cooldown lasts whose process is gone.
	cooldownLease = 2 * time.Second
)

// cooldownFor is how long a run cools down after a delivery that took so long, with so many outstanding steps.
func cooldownFor(took time.Duration, steps int64) time.Duration {
	if took < cooldownAfter || steps < cooldownSteps {
		return 0
	}
	return min(took, cooldownLongest)
}

// startCooldown starts the cooldown of a run if its delivery was long. It is called before the outcome is
// written, while no other wake-up of the run can begin.
func (w *worker) startCooldown(d *delivery) {
	if d.replayed == "" || w.q.cooldownFor(d.took, math.MaxInt64) <= 0 {
		return
	}
	run := rediskey.Part(d.replayed)
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	steps, err := w.q.outstandingSteps(ctx, run)
	lasts := w.q.cooldownFor(d.took, steps)
	if err == nil && lasts > 0 {
		err = w.extendCooldown(ctx, run)
	}
	if err != nil {
		w.log.Debug("a run has no cooldown", slog.String("run_id", d.replayed), slog.Any("error", err))
	}
	if err != nil || lasts <= 0 {
		return
	}
	w.log.Debug("a run cools down", slog.String("run_id", d.replayed), slog.Duration("delivery", d.took))
	w.Go(func() {
		w.awaitCooldown(run, time.Now().Add(lasts))
		w.endCooldown(run)
	})
}

// awaitCooldown waits until the steps of a run have ended, or until end.
func (w *worker) awaitCooldown(run string, end time.Time) {
	for time.Now().Before(end) && pause.For(w.q.phases.Claiming, cooldownLook) {
		ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
		left, err := w.q.outstandingSteps(ctx, run)
		if err == nil && left > 0 {
			err = w.extendCooldown(ctx, run)
		}
		cancel()
		if err == nil && left == 0 {
			return
		}
	}
}

func (w *worker) extendCooldown(ctx context.Context, run string) error {
	return w.q.redis.Set(ctx, w.Keys.CoolingDown+run, "1", cooldownLease).Err()
}

// endCooldown ends the cooldown of a run. If it fails, the run's wake-up is delivered when it is due.
func (w *worker) endCooldown(run string) {
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	k := &w.Keys
	reply, err := w.q.scripts.EndCooldown.Run(ctx, w.q.redis, []string{k.CoolingDown + run, k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell},
		run, k.Task, w.q.cfg.Clock.Now().UnixNano(), w.q.process.RingText(0))
	if err != nil {
		w.log.Debug("a run whose cooldown has ended is woken later", slog.String("run_id", run), slog.Any("error", err))
		return
	}
	if code, err := script.Code(reply); err == nil && code == 1 {
		w.Notify(0)
	}
}

// outstandingSteps is how many messages for steps of a run are neither done nor dead.
func (q *Queue) outstandingSteps(ctx context.Context, run string) (int64, error) {
	return q.redis.SCard(ctx, q.steps.Keys.OfRun+run).Result()
}

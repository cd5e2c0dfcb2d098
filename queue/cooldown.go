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

// SDK v4's replay costs the cube of the steps that are open: 0.1 s with a hundred, a minute with a
// thousand. It holds up the app's event loop for that long, and with it the steps, so that each
// few that end would bring on the next replay, of nearly as many. After a delivery that was as long
// as that a run rests: its next wake-up is not delivered before the steps that are on their way have
// ended, or as long has passed as the delivery took. So a replay never takes more than half the time.
//
// A run with a few steps never rests, however slow its app is: for it a replay of its own per step
// is cheap, and its sleeps and races must be on time.
const (
	cooldownAfter   = time.Second
	cooldownSteps   = 50
	cooldownLongest = 2 * time.Minute
	// cooldownLook is how often a run that rests is looked at; its delivery was ten times as long.
	cooldownLook = 100 * time.Millisecond
	// cooldownLease is how long a run rests that is not looked at, because this process is gone.
	cooldownLease = 2 * time.Second
)

// cooldownFor is how long a run rests after a delivery that took so long, with so many steps on their way.
func cooldownFor(took time.Duration, steps int64) time.Duration {
	if took < cooldownAfter || steps < cooldownSteps {
		return 0
	}
	return min(took, cooldownLongest)
}

// startCooldown lets the run of a delivery rest, if that was a long one. It is called before the outcome is
// written, while no other wake-up of the run can begin.
func (w *worker) startCooldown(d *delivery) {
	if d.replayed == "" || w.q.cooldownFor(d.took, math.MaxInt64) <= 0 {
		return
	}
	run := rediskey.Part(d.replayed)
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	steps, err := w.q.stepsOnTheirWay(ctx, run)
	lasts := w.q.cooldownFor(d.took, steps)
	if err == nil && lasts > 0 {
		err = w.extendCooldown(ctx, run)
	}
	if err != nil {
		w.log.Debug("a run does not rest", slog.String("run_id", d.replayed), slog.Any("error", err))
	}
	if err != nil || lasts <= 0 {
		return
	}
	w.log.Debug("a run rests", slog.String("run_id", d.replayed), slog.Duration("delivery", d.took))
	w.Go(func() {
		w.awaitCooldown(run, time.Now().Add(lasts))
		w.endCooldown(run)
	})
}

// awaitCooldown waits until a run has rested enough.
func (w *worker) awaitCooldown(run string, end time.Time) {
	for time.Now().Before(end) && pause.For(w.q.phases.Claiming, cooldownLook) {
		ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
		left, err := w.q.stepsOnTheirWay(ctx, run)
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

// endCooldown ends the rest of a run. Should it fail, the run's wake-up is looked at again all the same.
func (w *worker) endCooldown(run string) {
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	k := &w.Keys
	reply, err := w.q.scripts.EndCooldown.Run(ctx, w.q.redis, []string{k.CoolingDown + run, k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell},
		run, k.Task, w.q.cfg.Clock.Now().UnixNano(), w.q.process.Ring(0))
	if err != nil {
		w.log.Debug("a run that has rested is woken later", slog.String("run_id", run), slog.Any("error", err))
		return
	}
	if code, err := script.Code(reply); err == nil && code == 1 {
		w.Notify(0)
	}
}

// stepsOnTheirWay is how many messages for steps of a run are neither done nor dead.
func (q *Queue) stepsOnTheirWay(ctx context.Context, run string) (int64, error) {
	return q.redis.SCard(ctx, q.steps.Keys.OfRun+run).Result()
}

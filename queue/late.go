package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// lateAfter is the age of a run from which its messages are checked before their delivery: a younger one that was removed still has
// its mark, so the app is refused the start of it.
const lateAfter = 50 * time.Minute

// isOld reports whether the run of a message may have been removed long ago.
func (w *worker) isOld(m world.Message) bool {
	made, ok := ids.Time("wrun_", m.RunID)
	return ok && !m.Plain && w.q.cfg.Clock.Now().Sub(made.Time()) > lateAfter
}

// tooLate sets a message aside that carries the input of a run that has been removed. late is false for every other one, and while
// it is not known: then the message is treated as any other, and storage refuses to create the run.
func (w *worker) tooLate(d *delivery, m world.Message) (decision lane.Decision, late bool) {
	if w.q.cfg.Late == nil || m.RunID == "" {
		return lane.Decision{}, false
	}
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	reason, err := w.q.cfg.Late(ctx, m)
	if err != nil {
		w.log.Debug("it is not known whether the run of a message has been removed", slog.String("message", d.ID),
			slog.String("run_id", m.RunID), slog.Any("error", err))
	}
	if err != nil || reason == "" {
		return lane.Decision{}, false
	}
	return w.dead(d, m, Undeliverable, reason), true
}

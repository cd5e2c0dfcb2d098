package queue

import (
	"context"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/apps"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// preloadFresh is how old a preload may be when its delivery begins. An older one is read anew.
const preloadFresh = 50 * time.Millisecond

// Preload reads what the delivery of a wake-up carries, in the round trip that claims the message.
type Preload = lane.Preload

// takesPreload reports whether a delivery may carry the answer to run_started. Only bare
// wake-ups may: anything more that a message says is part of that call, and needs its own answer.
// And not to an app that takes no CBOR. And only those for SDK v4, whose deliveries of a run do not overlap, so that hardly anything can
// happen to the run between the reading and the use.
func (w *worker) takesPreload(app world.App, m world.Message) bool {
	return app.TakesPreload && app.SDK == apps.SDKv4 && w.Kind == world.KindFlow && isWakeUp(m) && !w.wantsJSON(app)
}

// preloadOf returns how to read what the delivery of a message would carry if it were made now. For wake-ups
// that carry nothing it reads the length of the log.
func (w *worker) preloadOf(ctx context.Context, m world.Message) *Preload {
	if w.q.cfg.Preload == nil || w.Kind != world.KindFlow || m.Delay > 0 || !isWakeUp(m) {
		return nil
	}
	d, err := w.q.apps.Choose(ctx, m, "")
	if err != nil || len(d.Apps) == 0 {
		return nil
	}
	return w.q.cfg.Preload(m.RunID, w.takesPreload(d.Apps[0], m))
}

// isWakeUp reports whether a message does nothing but wake a run.
func isWakeUp(m world.Message) bool { return m.Plain && m.RunID != "" && m.StepID == "" }

// lookedAt reports that a run has read its log as it was when the delivery began.
func (w *worker) lookedAt(d *delivery, m world.Message, out world.Outcome) {
	seen := out.Seen
	if seen.Events == 0 {
		seen = d.Seen
	}
	if seen.Events > 0 && w.q.cfg.LookedAt != nil {
		w.q.cfg.LookedAt(m.RunID, seen)
	}
}

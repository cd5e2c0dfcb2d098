package queue

import (
	"context"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/queue/internal/apps"
)

// preloadFresh is how long what was read along with the take of a message is brought along with its delivery; after
// that it is read anew.
const preloadFresh = 50 * time.Millisecond

// Preload reads what the delivery of a wake-up brings along, in the round trip that claims the message.
type Preload struct {
	Call luascript.Call
	// Read returns what a reply of the script has to bring along, nil if nothing, and what it tells of the log.
	Read func(ctx context.Context, reply []any) ([]byte, world.LogSeen)
}

// takesPreload reports whether a delivery may bring the answer to run_started along. Only for bare
// wake-ups: whatever else a message says goes into that call, and needs an answer of its own.
// And only for SDK v4, whose deliveries of a run do not overlap, so that next to nothing can
// happen to the run between the reading and the use.
func (l *lane) takesPreload(app world.App, m world.Message) bool {
	return app.TakesPreload && app.SDK == apps.SDKv4 && l.kind == world.KindFlow && isWakeUp(m)
}

// preloadOf says how to read what the delivery of a message would bring along, if it were made now. Of other wake-ups
// than those that bring something along only the length of the log is read.
func (l *lane) preloadOf(ctx context.Context, m world.Message) *Preload {
	if l.q.cfg.Preload == nil || l.kind != world.KindFlow || m.Delay > 0 || !isWakeUp(m) {
		return nil
	}
	d, err := l.q.apps.Choose(ctx, m, "")
	if err != nil || len(d.Apps) == 0 {
		return nil
	}
	return l.q.cfg.Preload(m.RunID, l.takesPreload(d.Apps[0], m))
}

// isWakeUp reports whether a message does nothing but wake a run.
func isWakeUp(m world.Message) bool { return m.Plain && m.RunID != "" && m.StepID == "" }

// notePreload notes what was read along with the take of a message, unless its delivery has begun. Whoever writes to the log
// later wakes the run with another message, for this one is not waiting any more.
func (l *lane) notePreload(id any, t claimCall, preload []byte, seen world.LogSeen) {
	if preload == nil {
		preload = []byte{} // there is nothing, and nobody need look again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.buffer {
		if c.id == id && c.owner == t.owner.answered() {
			c.preload, c.preloadedAt, c.seen = preload, t.asked, seen
		}
	}
}

// lookedAt passes on that a run has looked at its log as it was when the delivery of a claim began.
func (l *lane) lookedAt(c *claim, m world.Message, out world.Outcome) {
	seen := out.Seen
	if seen.Events == 0 {
		seen = c.seen
	}
	if seen.Events > 0 && l.q.cfg.LookedAt != nil {
		l.q.cfg.LookedAt(m.RunID, seen)
	}
}

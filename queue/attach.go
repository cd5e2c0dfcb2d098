package queue

import (
	"context"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

// alongFresh is how long what was read along with the take of a message is brought along with its delivery; after
// that it is read anew.
const alongFresh = 50 * time.Millisecond

// Along reads what the delivery of a wake-up brings along, in the round trip that takes the message.
type Along struct {
	Call luascript.Call
	// Read returns what a reply of the script has to bring along; nil: nothing.
	Read func(ctx context.Context, reply []any) []byte
}

// mayAttach reports whether a delivery may bring the answer to run_started along. Only for bare
// wake-ups: whatever else a message says goes into that call, and needs an answer of its own.
// And only for SDK v4, whose deliveries of a run do not overlap, so that next to nothing can
// happen to the run between the reading and the use.
func (l *lane) mayAttach(app world.App, m world.Message) bool {
	return app.Attach && app.SDK == sdkV4 && l.kind == world.KindFlow && m.Plain && m.RunID != "" && m.StepID == ""
}

// alongOf says how to read what the delivery of a message would bring along, if it were made now.
func (l *lane) alongOf(ctx context.Context, m world.Message) *Along {
	if l.q.cfg.Along == nil || l.kind != world.KindFlow || m.Delay > 0 {
		return nil
	}
	d, err := l.q.resolve(ctx, m, "")
	if err != nil || len(d.apps) == 0 || !l.mayAttach(d.apps[0], m) {
		return nil
	}
	return l.q.cfg.Along(m.RunID)
}

// bringAlong notes what was read along with the take of a message, unless its delivery has begun. Whoever writes to the log
// later wakes the run with another message, for this one is not waiting any more.
func (l *lane) bringAlong(id any, t takeCall, along []byte) {
	if along == nil {
		along = []byte{} // there is nothing, and nobody need look again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.buffer {
		if c.id == id && c.owner == t.owner {
			c.along, c.alongAt = along, t.asked
		}
	}
}

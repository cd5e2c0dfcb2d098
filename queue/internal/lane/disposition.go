package lane

import (
	"time"

	"github.com/world-redis/world-redis"
)

// Disposition is what becomes of a message. Its text is what requeue.lua gets, and what the metrics and the log show. The texts are
// older than the names here and stay, because people's dashboards have them: docs/queue.md#dispositions has both.
type Disposition string

// The dispositions.
const (
	Done          Disposition = "done"
	Dead          Disposition = "dead"
	Failed        Disposition = "failed"   // delivered again later, and charged
	Rescheduled   Disposition = "moved"    // delivered again when the app asked for
	WaitingForApp Disposition = "stalled"  // delivered again when an app registers, or later
	Throttled     Disposition = "crowded"  // delivered again when the app has capacity, or later
	Released      Disposition = "returned" // delivered again before all others
	Suspect       Disposition = "apart"    // delivered again when it is its turn among the suspects of the app, or later
	Lost          Disposition = "lost"     // another process has the message, so there is nothing to write
)

// Decision is a disposition with its details.
type Decision struct {
	Disposition Disposition
	Due         world.Millis // 0: now
	Reason      string
	Unseen      bool          // it is certain that the app has seen nothing of the message
	App         string        // the app that has perhaps begun the message and works on it, or that is throttled
	Hold        time.Duration // how long the next delivery waits until that app has noticed the end of this one
	Room        int           // of a throttled message: how many deliveries the app may have
	Place       int64         // of a suspect: its place among the suspects of the app
}

// worksOn is the app that perhaps works on a message after this decision. There is none after an answer, and it is
// the same as before if the app has not seen this delivery.
func (decision Decision) worksOn(c *Claim) string {
	switch {
	case decision.Disposition == Failed || decision.Disposition == Rescheduled:
		return ""
	case decision.Unseen || decision.App == "":
		return c.App
	default:
		return decision.App
	}
}

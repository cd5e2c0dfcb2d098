package queue

import "github.com/world-redis/world-redis"

// mayAttach reports whether a delivery may bring the answer to run_started along. Only for bare
// wake-ups: whatever else a message says goes into that call, and needs an answer of its own.
// And only for SDK v4, whose deliveries of a run do not overlap, so that next to nothing can
// happen to the run between the reading and the use.
func (l *lane) mayAttach(app world.App, m world.Message) bool {
	return app.Attach && app.SDK == sdkV4 && l.kind == world.KindFlow && m.Plain && m.RunID != "" && m.StepID == ""
}

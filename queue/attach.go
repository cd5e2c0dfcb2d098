package queue

import "github.com/world-redis/world-redis"

// mayAttach reports whether a delivery may bring the answer to run_started along: for bare wake-ups and
// for the message that begins a run. Whatever else a message says may go into that call, which then needs an answer of its own.
// And only for SDK v4, whose deliveries of a run do not overlap, so that next to nothing can
// happen to the run between the reading and the use.
func (l *lane) mayAttach(app world.App, m world.Message) bool {
	wakes := m.Plain || m.StartSpec > 0
	return app.Attach && app.SDK == sdkV4 && l.kind == world.KindFlow && wakes && m.RunID != "" && m.StepID == ""
}

package queue

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// coalesce marks a bare wake-up of a run, so that the scripts merge several into one. Each
// delivery of a wake-up begins by reading the run's whole log, so one that has not begun yet
// does the work of the others. Flow deliveries of v4 are short and never need to overlap.
// In v5 they run steps too, and a wake-up must not wait for those. A flow message of v4 that is more than a wake-up is
// never merged or delayed, but wake-ups wait for the end of its delivery: the delivery that starts a
// run still enqueues steps when the first of them have ended.
func (q *Queue) coalesce(ctx context.Context, m world.Message, kind world.Kind, a *addition) {
	if kind != world.KindFlow || m.RunID == "" || m.StepID != "" {
		return
	}
	run := rediskey.Part(m.RunID)
	if m.Plain && m.IdempotencyKey == "" {
		a.wait = run + ":" + rediskey.Part(m.DeploymentID)
	}
	switch {
	case !q.apps.IsV4(ctx, m):
	case a.wait != "":
		a.solo = run
	default:
		a.lead = run
	}
}

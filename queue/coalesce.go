package queue

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// sdkV4 is the generation whose flow deliveries are short and need never overlap. In v5
// a flow delivery runs steps too, and a wake-up must not wait for those.
const sdkV4 = "v4"

// coalesce marks a bare wake-up of a run, so that the scripts fold several into one. Any
// delivery of it begins with reading the run's whole log, so one that has yet to begin
// brings what the others would have brought. A flow message of v4 that is more than a wake-up is
// never folded or held up, but wake-ups wait for the end of its delivery: the one that starts a
// run is still at sending out steps when the first of them have ended.
func (q *Queue) coalesce(ctx context.Context, m world.Message, kind world.Kind, a *addition) {
	if kind != world.KindFlow || m.RunID == "" || m.StepID != "" {
		return
	}
	run := rediskey.Part(m.RunID)
	if m.Plain && m.IdempotencyKey == "" {
		a.wait = run + ":" + rediskey.Part(m.DeploymentID)
	}
	switch {
	case !q.isV4(ctx, m):
	case a.wait != "":
		a.solo = run
	default:
		a.lead = run
	}
}

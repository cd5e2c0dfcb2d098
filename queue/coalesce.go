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
// brings what the others would have brought.
func (q *Queue) coalesce(ctx context.Context, m world.Message, kind world.Kind, a *addition) {
	if !m.Plain || kind != world.KindFlow || m.RunID == "" || m.StepID != "" || m.IdempotencyKey != "" {
		return
	}
	a.wait = rediskey.Part(m.RunID) + ":" + rediskey.Part(m.DeploymentID)
	if q.isV4(ctx, m) {
		a.solo = rediskey.Part(m.RunID)
	}
}

package queue

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// wakeAtOnce bounds the messages that one call of wake.lua moves, with four commands for each.
const wakeAtOnce = 400

// RegisterApp implements world.AppRegistry.
func (q *Queue) RegisterApp(ctx context.Context, a world.App) error { return q.apps.Register(ctx, a) }

// ListApps implements world.AppRegistry.
func (q *Queue) ListApps(ctx context.Context) ([]world.App, error) { return q.apps.List(ctx) }

// UnregisterApp implements world.AppRegistry.
func (q *Queue) UnregisterApp(ctx context.Context, baseURL, deploymentID string) error {
	return q.apps.Unregister(ctx, baseURL, deploymentID)
}

// wake makes the messages due that wait for an app.
func (q *Queue) wake(ctx context.Context) error {
	now := q.nowMillis()
	for _, w := range q.workers() {
		k := &w.Keys
		for more := true; more; {
			reply, err := q.scripts.Wake.Run(ctx, q.redis, []string{k.WaitingForApp, k.Retry, k.Registrations, k.Bell},
				k.Task, wakeAtOnce, lane.Score(now), q.process.RingText(now))
			if err != nil {
				return err
			}
			if len(reply) == 0 {
				return luascript.ErrShortReply
			}
			left, err := luascript.Int(reply[0])
			if err != nil {
				return err
			}
			more = left > 0
		}
		w.Notify(now)
		w.Notify(0)
	}
	return nil
}

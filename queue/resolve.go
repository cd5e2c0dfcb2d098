package queue

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

// wakeAtOnce bounds what one call of wake.lua moves.
const wakeAtOnce = 500

// resolve returns the app that a message goes to now: the newest one of its deployment;
// of any, if it names none; else the configured one. Without any of them it must wait.
func (q *Queue) resolve(ctx context.Context, deploymentID string) (world.App, bool, error) {
	apps, err := q.registry.cached(ctx)
	if err != nil {
		return world.App{}, false, err
	}
	for _, a := range apps {
		if deploymentID == "" || a.DeploymentID == deploymentID {
			return a, true, nil
		}
	}
	if q.cfg.BaseURL != "" {
		return world.App{BaseURL: q.cfg.BaseURL, DeploymentID: deploymentID}, true, nil
	}
	return world.App{}, false, nil
}

// appsChanged hears that an app registered somewhere.
func (q *Queue) appsChanged() {
	q.registry.invalidate()
	q.targets.forgive()
}

// wake brings the messages forward that wait for an app.
func (q *Queue) wake(ctx context.Context) error {
	for _, l := range q.lanes() {
		k := &l.keys
		for more := true; more; {
			reply, err := q.scripts.wake.Run(ctx, q.redis, []string{k.stalled, k.retry, k.pending, k.wakes, k.bell},
				k.task, wakeAtOnce, q.cfg.Clock.Now().UnixNano(), q.ringing(0))
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
		l.bell.ring()
	}
	return nil
}

package queue

import (
	"context"
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

// wakeAtOnce bounds what one call of wake.lua moves, four commands for each.
const wakeAtOnce = 400

// destinations are the apps that may get a message now.
type destinations struct {
	apps    []world.App // alive, the best one first
	lapsed  world.App   // the newest app of the deployment, if none of it is alive
	several bool        // there are apps at more than one address
}

// resolve finds the apps that a message may go to: those of its deployment that are alive,
// the newest first; of any, if it names none. The one that has perhaps begun it, which is
// named, comes before all. The configured address is for deployments that no app has ever
// registered for.
func (q *Queue) resolve(ctx context.Context, m world.Message, begun string) (destinations, error) {
	apps, err := q.registry.cached(ctx)
	if err != nil {
		return destinations{}, err
	}
	now := q.nowMillis()
	var d destinations
	address := ""
	for _, a := range apps {
		alive := a.AliveUntil > now
		if alive && a.Refused == "" {
			d.several = d.several || address != "" && address != a.BaseURL
			address = a.BaseURL
		}
		if m.DeploymentID != "" && a.DeploymentID != m.DeploymentID || !serves(a, m) {
			continue
		}
		switch {
		case !alive && d.lapsed.BaseURL == "":
			d.lapsed = a
		case !alive:
		case a.BaseURL == begun:
			d.apps = slices.Insert(d.apps, 0, a)
		default:
			d.apps = append(d.apps, a)
		}
	}
	if len(d.apps) == 0 && q.cfg.BaseURL != "" && q.mayHaveDefault(apps, m, now) {
		d.apps = []world.App{{BaseURL: q.cfg.BaseURL, DeploymentID: m.DeploymentID}}
	}
	return d, nil
}

// mayHaveDefault reports whether the configured address may get a message that no app may have:
// nothing is known of its deployment, and the app at that address is not one that cannot take it.
func (q *Queue) mayHaveDefault(apps []world.App, m world.Message, now world.Millis) bool {
	if shortageOf(apps, m, now).known {
		return false
	}
	return !slices.ContainsFunc(apps, func(a world.App) bool {
		return a.BaseURL == q.cfg.BaseURL && a.AliveUntil > now && !serves(a, m)
	})
}

// aliveAddresses are those of the apps that are alive.
func (q *Queue) aliveAddresses(ctx context.Context) (map[string]struct{}, error) {
	apps, err := q.registry.cached(ctx)
	if err != nil {
		return nil, err
	}
	now := q.nowMillis()
	alive := map[string]struct{}{}
	for _, a := range apps {
		if a.AliveUntil > now && a.Refused == "" {
			alive[a.BaseURL] = struct{}{}
		}
	}
	return alive, nil
}

// standIns are the apps of other deployments that a message may go to instead.
func (q *Queue) standIns(ctx context.Context, m world.Message, lapsed world.App) ([]world.App, error) {
	if m.SDK == "" {
		m.SDK = lapsed.SDK
	}
	m.DeploymentID = ""
	d, err := q.resolve(ctx, m, "")
	return slices.DeleteFunc(d.apps, func(a world.App) bool {
		return a.AliveUntil == 0 || m.SDK != "" && m.SDK != a.SDK // not the configured address
	}), err
}

// isV4 reports whether a message goes to an app of SDK v4, also if that is not there just now.
func (q *Queue) isV4(ctx context.Context, m world.Message) bool {
	d, err := q.resolve(ctx, m, "")
	switch {
	case err != nil:
		return false
	case len(d.apps) > 0:
		return d.apps[0].SDK == sdkV4
	default:
		return d.lapsed.SDK == sdkV4
	}
}

// appsChanged hears that an app registered somewhere.
func (q *Queue) appsChanged() {
	q.registry.invalidate()
	q.targets.forgive()
}

// wake makes the messages due that wait for an app.
func (q *Queue) wake(ctx context.Context) error {
	now := q.nowMillis()
	for _, l := range q.lanes() {
		k := &l.keys
		for more := true; more; {
			reply, err := q.scripts.wake.Run(ctx, q.redis, []string{k.stalled, k.retry, k.wakes, k.bell},
				k.task, wakeAtOnce, score(now), q.ringing(now))
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
		l.due.note(now)
		l.bell.ring()
	}
	return nil
}

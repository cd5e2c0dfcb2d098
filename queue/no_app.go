package queue

import (
	"log/slog"

	"github.com/world-redis/world-redis"
)

// Policy says what becomes of the messages of a deployment of which no app is alive.
type Policy string

const (
	// Hold lets them wait until one is: a run is never continued by other code.
	Hold Policy = "hold"
	// Latest gives them to the newest app of another deployment, of the same namespace and
	// SDK generation.
	Latest Policy = "latest"
	// Fail sets them aside as dead and fails their runs.
	Fail Policy = "fail"
)

// Valid reports whether there is such a policy.
func (p Policy) Valid() bool { return p == Hold || p == Latest || p == Fail }

// noApp decides about a message without an app: either there are others that may have
// it, or o is what becomes of it.
func (l *lane) noApp(c *claim, m world.Message, lapsed world.App) (apps []world.App, o outcome) {
	cfg := &l.q.cfg
	reason, since, err := l.q.apps.Missing(c.ctx, l.kind, m)
	if err != nil {
		return nil, outcome{disposition: dispositionReleased, due: l.q.dueIn(redisHiccup), reason: err.Error(), unseen: true}
	}
	wait := cfg.Backoff.NoTarget
	if cfg.Policy != Hold && m.DeploymentID != "" {
		left := cfg.Patience - cfg.Clock.Now().Sub(since)
		if left <= 0 {
			if cfg.Policy == Fail {
				return nil, l.dead(c, m, NoApp, reason)
			}
			apps, err := l.q.apps.StandIns(c.ctx, m, lapsed)
			if err != nil {
				return nil, outcome{disposition: dispositionReleased, due: l.q.dueIn(redisHiccup), reason: err.Error(), unseen: true}
			}
			if len(apps) > 0 {
				l.log.Warn("a message goes to an app of another deployment, because none of its own is alive",
					slog.String("message", c.id), slog.String("run_id", m.RunID), slog.String("deployment", m.DeploymentID),
					slog.String("instead", apps[0].DeploymentID), slog.String("app", apps[0].BaseURL))
				return apps, outcome{}
			}
			left = wait
		}
		wait = min(wait, left)
	}
	return nil, outcome{disposition: dispositionWaitingForApp, due: l.q.dueIn(wait), reason: reason, unseen: true}
}

package queue

import (
	"log/slog"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// Policy says what becomes of the messages of a deployment without a live app.
type Policy string

const (
	// Hold lets them wait until there is one: a run is never continued by other code.
	Hold Policy = "hold"
	// Latest gives them to the newest app of another deployment, of the same namespace and
	// SDK generation.
	Latest Policy = "latest"
	// Fail sets them aside as dead and fails their runs.
	Fail Policy = "fail"
)

// Valid reports whether there is such a policy.
func (p Policy) Valid() bool { return p == Hold || p == Latest || p == Fail }

// noApp decides about a message without an app. It returns apps of other deployments that may have
// it, or decision is what becomes of it.
func (w *worker) noApp(d *delivery, m world.Message, lapsed world.App) (apps []world.App, decision lane.Decision) {
	cfg := &w.q.cfg
	reason, since, err := w.q.apps.Missing(d.Context(), w.Kind, m)
	if err != nil {
		return nil, lane.Decision{Disposition: lane.Released, Due: w.q.dueIn(redisHiccup), Reason: err.Error(), Unseen: true}
	}
	wait := cfg.Backoff.NoTarget
	if cfg.Policy != Hold && m.DeploymentID != "" {
		left := cfg.Patience - cfg.Clock.Now().Sub(since)
		if left <= 0 {
			if cfg.Policy == Fail {
				return nil, w.dead(d, m, NoApp, reason)
			}
			apps, err := w.q.apps.StandIns(d.Context(), m, lapsed)
			if err != nil {
				return nil, lane.Decision{Disposition: lane.Released, Due: w.q.dueIn(redisHiccup), Reason: err.Error(), Unseen: true}
			}
			if len(apps) > 0 {
				w.log.Warn("a message goes to an app of another deployment, because none of its own is alive",
					slog.String("message", d.ID), slog.String("run_id", m.RunID), slog.String("deployment", m.DeploymentID),
					slog.String("instead", apps[0].DeploymentID), slog.String("app", apps[0].BaseURL))
				return apps, lane.Decision{}
			}
			left = wait
		}
		wait = min(wait, left)
	}
	return nil, lane.Decision{Disposition: lane.WaitingForApp, Due: w.q.dueIn(wait), Reason: reason, Unseen: true}
}

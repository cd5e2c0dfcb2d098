package queue

import (
	"context"
	"log/slog"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// An app that refused a message in CBOR gets its messages as JSON (docs/protocol.md).

func (w *worker) wantsJSON(app world.App) bool { return w.q.apps.WantsJSON(app) }

// noteJSON remembers an app that refused CBOR, once it has accepted JSON. If that fails, the next message is refused and
// sent again, too.
func (w *worker) noteJSON(app world.App, out world.Outcome) {
	if !out.TookJSON {
		return
	}
	ctx, cancel := context.WithTimeout(w.q.phases.Delivering, lane.RedisTimeout)
	defer cancel()
	isNew, err := w.q.apps.RefusesCBOR(ctx, app)
	switch {
	case err != nil:
		w.log.Info("it could not be recorded that an app takes messages only as JSON; it will be tried again", slog.String("app", withoutCredentials(app.BaseURL)), slog.Any("error", err))
	case isNew:
		w.log.Info("the app refuses application/cbor (415), so its messages are sent as application/json; they carry no preloaded log",
			slog.String("app", withoutCredentials(app.BaseURL)), slog.String("deployment", app.DeploymentID))
	}
}

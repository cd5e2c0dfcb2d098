package apps

import (
	"context"
	"slices"
	"time"

	"github.com/world-redis/world-redis"
)

// Choice is which apps may get a message now.
type Choice struct {
	Apps    []world.App // alive, the best one first
	Lapsed  world.App   // the newest app of the deployment, if none of it is alive
	Several bool        // apps at more than one address are alive, whether they may have the message or not
}

// Choose returns the apps that a message may go to: the live ones of its deployment, or of any deployment if it names none, the
// newest first. The app at the address begunAt, which perhaps works on the message already, comes before all others. The
// configured address is for deployments that no app has ever registered for.
func (r *Registry) Choose(ctx context.Context, m world.Message, begunAt string) (Choice, error) {
	apps, err := r.cached(ctx)
	if err != nil {
		return Choice{}, err
	}
	now := r.now()
	var c Choice
	address := ""
	for _, a := range apps {
		alive := a.AliveUntil > now
		if alive && a.Refused == "" {
			c.Several = c.Several || address != "" && address != a.BaseURL
			address = a.BaseURL
		}
		if m.DeploymentID != "" && a.DeploymentID != m.DeploymentID || !serves(a, m) {
			continue
		}
		switch {
		case !alive && c.Lapsed.BaseURL == "":
			c.Lapsed = a
		case !alive:
		case a.BaseURL == begunAt:
			c.Apps = slices.Insert(c.Apps, 0, a)
		default:
			c.Apps = append(c.Apps, a)
		}
	}
	if len(c.Apps) == 0 && r.cfg.BaseURL != "" && r.mayHaveDefault(apps, m, now) {
		c.Apps = []world.App{{BaseURL: r.cfg.BaseURL, DeploymentID: m.DeploymentID, RefusedCBOR: r.baseURLRefusedCBOR()}}
	}
	return c, nil
}

// mayHaveDefault reports whether a message that no app may have goes to the configured address:
// its deployment has no apps, and the app at that address is not one that cannot take it.
func (r *Registry) mayHaveDefault(apps []world.App, m world.Message, now world.Millis) bool {
	if shortageOf(apps, m, now).known {
		return false
	}
	return !slices.ContainsFunc(apps, func(a world.App) bool {
		return a.BaseURL == r.cfg.BaseURL && a.AliveUntil > now && !serves(a, m)
	})
}

// StandIns returns the apps of other deployments that may get a message whose own apps have lapsed.
func (r *Registry) StandIns(ctx context.Context, m world.Message, lapsed world.App) ([]world.App, error) {
	if m.SDK == "" {
		m.SDK = lapsed.SDK
	}
	m.DeploymentID = ""
	c, err := r.Choose(ctx, m, "")
	return slices.DeleteFunc(c.Apps, func(a world.App) bool {
		return a.AliveUntil == 0 || m.SDK != "" && m.SDK != a.SDK // AliveUntil is 0 at the configured address
	}), err
}

// Missing is called for a message that no app may have. It returns the reason, and since when this process has seen that there is
// no such app.
func (r *Registry) Missing(ctx context.Context, kind world.Kind, m world.Message) (reason string, since time.Time, err error) {
	apps, err := r.cached(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	s := shortageOf(apps, m, r.now())
	return s.reason, r.health.missing(absenceOf(kind, m), s), nil
}

// IsV4 reports whether a message goes to an app of SDK v4, even if that app is not alive now.
func (r *Registry) IsV4(ctx context.Context, m world.Message) bool {
	c, err := r.Choose(ctx, m, "")
	switch {
	case err != nil:
		return false
	case len(c.Apps) > 0:
		return c.Apps[0].SDK == SDKv4
	default:
		return c.Lapsed.SDK == SDKv4
	}
}

// Addresses returns the addresses of the apps that are alive.
func (r *Registry) Addresses(ctx context.Context) (map[string]struct{}, error) {
	apps, err := r.cached(ctx)
	if err != nil {
		return nil, err
	}
	now := r.now()
	alive := map[string]struct{}{}
	for _, a := range apps {
		if a.AliveUntil > now && a.Refused == "" {
			alive[a.BaseURL] = struct{}{}
		}
	}
	return alive, nil
}

// HasEnded reports whether the app at an address was stopped: it has unregistered, or its lease has lapsed. It reads the list from Redis.
func (r *Registry) HasEnded(ctx context.Context, baseURL string) (bool, error) {
	apps, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	now, known := r.now(), false
	for _, a := range apps {
		if a.BaseURL == baseURL {
			known = true
			if a.AliveUntil > now {
				return false, nil
			}
		}
	}
	return known, nil
}

package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/world-redis/world-redis"
)

// isTidying reports whether it is time to look for registrations that need not be kept.
func (r *registry) isTidying() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.q.cfg.Clock.Now()
	if !r.tidied.IsZero() && now.Sub(r.tidied) < appsTidied {
		return false
	}
	r.tidied = now
	return true
}

func (r *registry) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.full.IsZero() && r.q.cfg.Clock.Now().Sub(r.full) < appsFullFor
}

func (r *registry) noteFull(full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = time.Time{}
	if full {
		r.full = r.q.cfg.Clock.Now()
	}
}

// drop removes the registrations that choose names by their fields; it gets all of them.
func (r *registry) drop(ctx context.Context, choose func([]world.App) []string) error {
	apps, err := r.read(ctx)
	if err != nil {
		return err
	}
	fields := choose(apps)
	if len(fields) == 0 {
		return nil
	}
	if err := r.q.redis.HDel(ctx, r.key, fields...).Err(); err != nil {
		return fmt.Errorf("remove apps: %w", err)
	}
	return nil
}

// oldestDead are the fields of the registrations that make room: of apps that are not alive, or that the service does not
// connect to, those that were seen last the longest ago. The apps are the newest first.
func oldestDead(apps []world.App, now world.Millis) []string {
	var dead []string
	for _, a := range slices.Backward(apps) {
		if a.AliveUntil <= now || a.Refused != "" {
			dead = append(dead, appField(a))
		}
		if len(dead) == appsRoom {
			break
		}
	}
	return dead
}

// outdated are the fields of registrations that need not be kept. The apps are the newest first.
func outdated(apps []world.App, now world.Millis) []string {
	var old []string
	seen := map[string]bool{}
	for _, a := range apps {
		age := now - max(a.SeenAt, min(a.AliveUntil, now))
		switch {
		case now-a.SeenAt > longLease, age > world.Millis(lapsedKept.Milliseconds()) && seen[a.DeploymentID]:
			old = append(old, appField(a))
		}
		seen[a.DeploymentID] = true
	}
	return old
}

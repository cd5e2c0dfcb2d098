package apps

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// limit bounds the registrations of a namespace.
	limit = 1000
	// makeRoom is how many registrations of dead apps are removed at once when a new app finds no room, so that the next ones
	// find some.
	makeRoom = 50
	// fullFor is how long this process assumes that the list is still full of apps that are alive.
	fullFor = 5 * time.Second
	// cleanEvery is how often one process removes registrations that need not be kept.
	cleanEvery = 10 * time.Minute
	// lapsedKept is how long an app whose lease has lapsed is listed, unless it is the newest of
	// its deployment. Apps that get another address at every start would otherwise fill the list.
	lapsedKept = 24 * time.Hour
)

// isCleaning reports whether it is time to remove registrations that need not be kept.
func (r *Registry) isCleaning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Clock.Now()
	if !r.cleaned.IsZero() && now.Sub(r.cleaned) < cleanEvery {
		return false
	}
	r.cleaned = now
	return true
}

func (r *Registry) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.full.IsZero() && r.cfg.Clock.Now().Sub(r.full) < fullFor
}

func (r *Registry) noteFull(full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = time.Time{}
	if full {
		r.full = r.cfg.Clock.Now()
	}
}

// drop removes the registrations whose fields choose returns. choose is called with all apps, newest first.
func (r *Registry) drop(ctx context.Context, choose func([]world.App) []string) error {
	apps, err := r.read(ctx)
	if err != nil {
		return err
	}
	fields := choose(apps)
	if len(fields) == 0 {
		return nil
	}
	if err := r.cfg.Redis.HDel(ctx, r.cfg.Key, fields...).Err(); err != nil {
		return fmt.Errorf("remove apps: %w", err)
	}
	return nil
}

// oldestDead returns the fields of the registrations to remove when the list is full: the oldest ones of apps that are not alive,
// or that the service does not connect to. The apps are sorted newest first.
func oldestDead(apps []world.App, now world.Millis) []string {
	var dead []string
	for _, a := range slices.Backward(apps) {
		if a.AliveUntil <= now || a.Refused != "" {
			dead = append(dead, fieldOf(a))
		}
		if len(dead) == makeRoom {
			break
		}
	}
	return dead
}

// outdated returns the fields of registrations that need not be kept. The apps are sorted newest first.
func outdated(apps []world.App, now world.Millis) []string {
	var old []string
	seen := map[string]bool{}
	for _, a := range apps {
		age := now - max(a.SeenAt, min(a.AliveUntil, now))
		switch {
		case now-a.SeenAt > longLease, age > world.Millis(lapsedKept.Milliseconds()) && seen[a.DeploymentID]:
			old = append(old, fieldOf(a))
		}
		seen[a.DeploymentID] = true
	}
	return old
}

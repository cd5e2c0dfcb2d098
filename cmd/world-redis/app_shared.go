package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/world-redis/world-redis"
)

// sharedAddress is an address that two deployments have registered, from the view of the first.
type sharedAddress struct{ baseURL, deployment, other string }

// sharing returns a warning if an app of another deployment has the address of an app, and both are alive. One that
// was replaced has its lease for a while, so it counts once it has registered after this one was seen.
func (c *appCheck) sharing(ctx context.Context, a world.App) []world.AppWarning {
	apps, err := c.ListApps(ctx)
	if err != nil {
		return nil // the next renewal finds out
	}
	here := c.routed(ctx, registration{a, world.CallerOf(ctx)}).BaseURL
	others, own := map[string]world.Millis{}, world.Millis(0)
	for _, other := range apps {
		if other.BaseURL == here && other.DeploymentID == a.DeploymentID {
			own = other.SeenAt
		}
		if other.BaseURL == here && other.DeploymentID != a.DeploymentID && other.Alive && other.Refused == "" {
			others[other.DeploymentID] = other.SeenAt
		}
	}
	deployment := ""
	c.mu.Lock()
	defer c.mu.Unlock()
	for pair := range c.shared {
		if _, still := others[pair.other]; pair.baseURL == here && pair.deployment == a.DeploymentID && !still {
			reverse := sharedAddress{here, pair.other, a.DeploymentID}
			delete(c.shared, pair)
			delete(c.shared, reverse)
			delete(c.warned, pair)
			delete(c.warned, reverse)
		}
	}
	for other, seen := range others {
		pair := sharedAddress{here, a.DeploymentID, other}
		first, known := c.shared[pair]
		if !known && len(c.shared) < checksKept {
			c.shared[pair] = seen
		}
		// It was renewed since this one saw it, or this one since that one did.
		firstOwn, seenByOther := c.shared[sharedAddress{here, other, a.DeploymentID}]
		both := known && seen > first || seenByOther && own > firstOwn
		if both && (deployment == "" || other < deployment) {
			deployment = other
		}
	}
	if deployment == "" {
		return nil
	}
	pair, reverse := sharedAddress{here, a.DeploymentID, deployment}, sharedAddress{here, deployment, a.DeploymentID}
	_, said := c.warned[pair]
	if _, reversed := c.warned[reverse]; !said && !reversed {
		c.log.Warn("two live deployments have the same address; give each its own WORKFLOW_BASE_URL, unless a load balancer there is moving from one to the other",
			slog.String("app", here), slog.String("deployment", a.DeploymentID), slog.String("other_deployment", deployment))
	}
	c.warned[pair] = struct{}{}
	return []world.AppWarning{{Code: world.SharedAddress, Message: fitting("The deployments ",
		fmt.Sprintf("%.100q and %.100q", a.DeploymentID, deployment),
		" are both alive at "+a.BaseURL+", so messages for one may reach the other, which refuses them. Give each its own WORKFLOW_BASE_URL, or stop one.")}}
}

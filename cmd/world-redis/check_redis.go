package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/setup"
)

// checkRedis makes the checks of the setup command at the start, without its counts. In production the service
// refuses to start on a Redis that would lose runs. All other problems are warnings.
func checkRedis(ctx context.Context, conn *redisconn.Conn, c config, logger *slog.Logger) error {
	if conn.Mode == redisconn.Embedded {
		return nil
	}
	namespaces, err := c.namespaces()
	if err != nil {
		return err
	}
	prefixes := make([]setup.Prefixes, len(namespaces))
	for i, n := range namespaces {
		prefixes[i] = setup.Prefixes{Keys: n.keyPrefix, Jobs: n.jobPrefix}
	}
	production := c.Environment == "production"
	checks, server, err := setup.Checks(ctx, conn, prefixes, production)
	if err != nil {
		return fmt.Errorf("check the Redis at %s: %w", conn.Address, err)
	}
	logger.Info("Redis was checked", slog.String("redis", conn.Address), slog.String("server", server), slog.String("mode", string(conn.Mode)))
	var refusals []string
	for _, check := range checks {
		switch {
		case check.Verdict == setup.OK:
		case check.Refuse && production && c.RedisChecks == "refuse":
			refusals = append(refusals, fmt.Sprintf("%s: %s. %s", check.Name, check.Message, check.Advice))
		default:
			logger.Warn("Redis is not set up as it should be; `workflow-redis-setup` repeats this check",
				slog.String("check", check.Name), slog.String("found", check.Message), slog.String("advice", check.Advice))
		}
	}
	if len(refusals) == 0 {
		return nil
	}
	return errors.New("the Redis at " + conn.Address + " would lose runs, so the service does not start in production (WORKFLOW_WORLD_REDIS_CHECKS=warn starts it):\n  " + strings.Join(refusals, "\n  "))
}

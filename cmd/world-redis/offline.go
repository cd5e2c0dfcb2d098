package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
)

// offlineParts are the parts of the service, for a command that works on its Redis without serving.
type offlineParts struct {
	conn    *redisconn.Conn
	tenants []*tenant
}

func openParts(ctx context.Context, c config, logger *slog.Logger) (*offlineParts, error) {
	conn, err := redisconn.Connect(c.RedisURL)
	if err != nil {
		return nil, err
	}
	p := &offlineParts{conn: conn}
	policy, err := c.dialPolicy()
	if err == nil {
		err = conn.Confirm(c.Durability, c.KeyPrefix+"replicated:")
	}
	if err == nil {
		err = conn.Ping(ctx)
	}
	if err == nil {
		c.BaseURL, c.Archive = "", "" // nothing is delivered or archived, so neither address is checked
		p.tenants, err = newTenants(ctx, conn, policy, c, world.SystemClock{}, logger)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return p, nil
}

// close completes what calls of a namespace left to the background, and disconnects.
func (p *offlineParts) close(t *tenant) error {
	var err error
	if t != nil {
		stopped, stop := context.WithCancel(context.Background())
		stop()
		err = t.store.Run(stopped)
	}
	return errors.Join(err, p.conn.Close())
}

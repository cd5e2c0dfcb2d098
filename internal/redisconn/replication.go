package redisconn

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ReplicationIDs returns the replication id of each master. Redis takes a new one when it starts and when a replica becomes a
// master, and at no other time, so one that was not there before stands for data that may lack the last writes. While a node that
// should be a master is none, or does not answer, it is an error. The embedded Redis has none.
func (c *Conn) ReplicationIDs(ctx context.Context) ([]string, error) {
	cluster, is := c.Client.(*redis.ClusterClient)
	switch {
	case c.Mode == Embedded:
		return []string{}, nil
	case !is:
		id, err := replicationID(ctx, c.Client)
		return []string{id}, err
	}
	var mu sync.Mutex
	var all []string
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		id, err := replicationID(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, id)
		return err
	})
	return all, err
}

func replicationID(ctx context.Context, node redis.Cmdable) (string, error) {
	info, err := node.Info(ctx, "replication").Result()
	if err != nil {
		return "", fmt.Errorf("read the replication id: %w", err)
	}
	role, id := "", ""
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "role":
			role = value
		case "master_replid":
			id = value
		}
	}
	if role != "master" || id == "" {
		return "", fmt.Errorf("a Redis that should be a master reports role %q, replication id %q", role, id)
	}
	return id, nil
}

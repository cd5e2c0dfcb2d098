package redisconn

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ReplicationIDs returns the replication id of each master. Redis changes its id only when it starts and when a
// replica becomes a master, so a new id means that the last writes may be missing. It returns an error while a node
// that should be a master is not one, or does not answer. The embedded Redis has no id.
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

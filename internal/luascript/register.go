package luascript

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/redisfault"
)

// registerTime is how long one node of a cluster may take to load the scripts of a package.
const registerTime = 5 * time.Second

// Register loads scripts into the server, so that a syntax error stops the start and not the first call.
//
// A node of a cluster that cannot be reached, or does not serve yet, is left out if another one loads the scripts. It
// gets each script with the first call that needs it.
func Register(ctx context.Context, c redis.UniversalClient, scripts ...*Script) error {
	cluster, ok := c.(*redis.ClusterClient)
	if !ok {
		return register(ctx, c, scripts)
	}
	var taken atomic.Bool
	var away atomic.Pointer[error]
	err := cluster.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error {
		ctx, cancel := context.WithTimeout(ctx, registerTime)
		defer cancel()
		err := register(ctx, node, scripts)
		if _, passing := redisfault.Passing(err); passing {
			away.Store(&err)
			return nil
		}
		if err == nil {
			taken.Store(true)
		}
		return err
	})
	if missed := away.Load(); err == nil && missed != nil && (!taken.Load() || ctx.Err() != nil) {
		return *missed
	}
	return err
}

// register loads scripts into one server, in one round trip.
func register(ctx context.Context, c redis.UniversalClient, scripts []*Script) error {
	loads := make([]*redis.StringCmd, len(scripts))
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, s := range scripts {
			loads[i] = p.ScriptLoad(ctx, s.Sent) // not Script.Load, which takes the hash from an answer that has not arrived yet
		}
		return nil
	})
	if err == nil {
		return nil
	}
	for i, load := range loads {
		if load.Err() != nil {
			return fmt.Errorf("load script %s: %w", scripts[i].Name, load.Err())
		}
	}
	return fmt.Errorf("load scripts: %w", err)
}

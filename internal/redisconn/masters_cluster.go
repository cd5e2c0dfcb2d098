package redisconn

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// errNoMaster ends a look that is to be made again.
var errNoMaster = errors.New("not all masters answer as masters")

// clusterMasters looks at the masters of a cluster. go-redis lists the slots again after MOVED, and otherwise once a minute:
// a master that died sends no MOVED, so its slots would be out of reach for that minute, however soon its replica has taken over.
func clusterMasters(client *redis.ClusterClient, open *conns) func(ctx context.Context) (settled bool) {
	client.OnNewNode(func(node *redis.Client) { node.AddHook(slotsInTime{}) })
	return func(ctx context.Context) bool {
		var mu sync.Mutex
		now := map[string]struct{}{}
		err := client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			mu.Lock()
			now[node.Options().Addr] = struct{}{}
			mu.Unlock()
			if !isMaster(ctx, node) {
				return errNoMaster
			}
			return nil
		})
		if len(now) > 0 {
			open.avoid(func(address string) bool { _, is := now[address]; return !is })
		}
		return err == nil
	}
}

// slotsInTime is a hook of one node: a node that hangs must not hold up the others that know the slots as well.
type slotsInTime struct{}

// DialHook implements redis.Hook.
func (slotsInTime) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (slotsInTime) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) == 2 && args[0] == "cluster" && args[1] == "slots" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, oneNode)
			defer cancel()
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (slotsInTime) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

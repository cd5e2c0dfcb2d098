package redisconn

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// muteWait is how long a call waits at most between two dials to an address that is muted. It is spread, so that the calls that
// hung there do not come to the next master all at once.
const muteWait = 20 * time.Millisecond

// newClusterClient returns a client that hardly waits for an address that [conns] has muted: go-redis dials an address five
// times, 100 ms apart, before it goes on to the node that has the slot now.
func newClusterClient(t *target) *redis.ClusterClient {
	o := t.universal().Cluster()
	o.NewClient = func(node *redis.Options) *redis.Client {
		address, wait := node.Addr, node.DialerRetryTimeout
		node.DialerRetryBackoff = func(int) time.Duration {
			if t.open.isMute(address) {
				return rand.N(muteWait)
			}
			return wait
		}
		return redis.NewClient(node)
	}
	return redis.NewClusterClient(o)
}

// clusterMasters looks at the masters of a cluster. go-redis lists the slots again after MOVED, and otherwise once a minute:
// a master that died sends no MOVED, so its slots would be out of reach for that minute, however soon its replica has taken over.
func clusterMasters(client *redis.ClusterClient, open *conns) func(ctx context.Context) (settled bool) {
	client.OnNewNode(func(node *redis.Client) { node.AddHook(slotsInTime{}) })
	return func(ctx context.Context) bool {
		masters := listMasters(ctx, client)
		if len(masters) == 0 {
			return false
		}
		for address := range masters {
			open.allow(address) // it was avoided while it was a replica
		}
		// First of all: calls wait for these connections to end.
		open.avoid(func(address string) bool { _, is := masters[address]; return !is })
		return allAnswer(ctx, masters)
	}
}

// listMasters asks the cluster for its masters, which are not asked themselves.
func listMasters(ctx context.Context, client *redis.ClusterClient) map[string]*redis.Client {
	var mu sync.Mutex
	masters := map[string]*redis.Client{}
	_ = client.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error { // where nobody answers there are none
		mu.Lock()
		defer mu.Unlock()
		masters[node.Options().Addr] = node
		return nil
	})
	return masters
}

// allAnswer says whether nodes are all there, and masters.
func allAnswer(ctx context.Context, nodes map[string]*redis.Client) bool {
	var asked sync.WaitGroup
	var missing atomic.Bool
	for _, node := range nodes {
		asked.Go(func() {
			if !isMaster(ctx, node) {
				missing.Store(true)
			}
		})
	}
	asked.Wait()
	return !missing.Load()
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

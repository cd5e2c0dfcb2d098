package storage

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// check asserts what always holds for runs: I1 to I4 of docs/faults.md, and that the lists of runs are right once no
// call is in progress.
func (b *bundle) check(runIDs ...string) {
	b.t.Helper()
	b.caller().Check(runIDs...)
	b.checkIndexes(runIDs...)
	b.checkCopies(runIDs...)
}

// checkIndexes asserts what always holds for the lists and claims in Redis.
func (b *bundle) checkIndexes(runIDs ...string) {
	b.t.Helper()
	b.checkLists(runIDs...)
	b.checkHooks(runIDs...)
	b.checkClaims()
}

// checkLists asserts that each run is in the list of its status and in no other. A pending run may be among the running
// ones if a run_started came before it.
func (b *bundle) checkLists(runIDs ...string) {
	b.t.Helper()
	b.quiet()
	status := make([]*redis.StringCmd, len(runIDs))
	entries := make([][]*redis.FloatCmd, len(runIDs))
	_, err := b.redis.Client.Pipelined(b.ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			status[i] = p.HGet(b.ctx, b.keys.of(runID).run(), "s")
			for _, list := range runindex.Statuses {
				entries[i] = append(entries[i], p.ZScore(b.ctx, b.index.Keys.ByStatus(list), runID))
			}
		}
		return nil
	})
	require.True(b.t, err == nil || errors.Is(err, redis.Nil), "%v", err)
	for i, runID := range runIDs {
		for n, list := range runindex.Statuses {
			is := status[i].Val()
			if is == string(world.RunPending) && list == world.RunRunning {
				continue
			}
			require.Equal(b.t, is == string(list), entries[i][n].Err() == nil, "run %s (%s) in the list %s", runID, is, list)
		}
	}
}

// checkHooks asserts that the hooks of runs are in the list of all hooks.
func (b *bundle) checkHooks(runIDs ...string) {
	b.t.Helper()
	for _, runID := range runIDs {
		live, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID, Page: world.PageRequest{Limit: 1000}})
		require.NoError(b.t, err)
		for _, hook := range live.Data {
			require.NoError(b.t, b.redis.Client.ZScore(b.ctx, b.keys.hooksIndex(), hook.RunID+"/"+hook.HookID).Err(), "hook %s", hook.HookID)
		}
	}
}

// checkClaims is I4: every claim of a token belongs to a live hook.
func (b *bundle) checkClaims() {
	b.t.Helper()
	for _, key := range b.keysLike(b.keys.prefix + "hooks:by_token:*") {
		value, err := b.redis.Client.Get(b.ctx, key).Result()
		require.NoError(b.t, err)
		held := record.ParseClaim(value)
		hook, err := b.GetHook(b.ctx, held.HookID, false)
		require.NoError(b.t, err, "claim %s", value)
		require.Equal(b.t, key, b.keys.claim(rediskey.Hash(hook.Token)))
	}
}

// keysLike returns the keys of all masters that match a pattern.
func (b *bundle) keysLike(pattern string) []string {
	b.t.Helper()
	cluster, clustered := b.redis.Client.(*redis.ClusterClient)
	if !clustered {
		keys, err := b.redis.Client.Keys(b.ctx, pattern).Result()
		require.NoError(b.t, err)
		return keys
	}
	var mu sync.Mutex
	var all []string
	require.NoError(b.t, cluster.ForEachMaster(b.ctx, func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keys...)
		return err
	}))
	return all
}

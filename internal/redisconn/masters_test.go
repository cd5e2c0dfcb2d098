package redisconn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

// The replica of a master that died, or that hangs, is found as soon as it has taken over, and not when go-redis lists the
// slots the next time, which is once a minute.
func TestClusterFindsTheNextMaster(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0")
	conn, err := redisconn.Open(t.Context(), c.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	set := func(key string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return conn.Client.Set(ctx, key, "v", 0).Err()
	}
	// By the time that the slots of one have been found anew, those of the others may have been as well: each is asked on its own.
	for i, lose := range []func(*redistest.Server) error{(*redistest.Server).Kill, (*redistest.Server).Freeze} {
		key := keyOf(t, conn.Client.(*redis.ClusterClient), c.Masters[i].Addr)
		require.NoError(t, set(key))
		require.NoError(t, lose(c.Masters[i]))
		replica := redistest.Client(t, c.Replicas[i].Addr)
		require.Eventually(t, func() bool {
			_ = set(key) // as a service does that goes on working
			return strings.Contains(replica.Info(t.Context(), "replication").Val(), "role:master")
		}, 30*time.Second, 20*time.Millisecond, "the replica takes over")
		require.Eventually(t, func() bool { return set(key) == nil }, 20*time.Second, 20*time.Millisecond, "master %d", i)
	}
	require.NoError(t, c.Masters[1].Thaw())
}

// keyOf finds a key that a node has.
func keyOf(t *testing.T, client *redis.ClusterClient, addr string) string {
	t.Helper()
	for i := range 1000 {
		key := fmt.Sprintf("k%d", i)
		node, err := client.MasterForKey(t.Context(), key)
		require.NoError(t, err)
		if node.Options().Addr == addr {
			return key
		}
	}
	t.Fatalf("no key is at %s", addr)
	return ""
}

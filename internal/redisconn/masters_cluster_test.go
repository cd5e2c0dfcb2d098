package redisconn_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A call that waits for a frozen master continues at the next one as soon as that is known: go-redis dials the old one
// a few more times, without a wait in between. It still waits for any other node.
func TestAFormerMasterIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0")
	conn, err := redisconn.Connect(c.URL() + "?read_timeout=1h")
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	client := conn.Client.(*redis.ClusterClient)
	var nodes sync.Map
	client.OnNewNode(func(node *redis.Client) { nodes.Store(node.Options().Addr, node.Options().DialerRetryBackoff) })
	waits := func(s *redistest.Server) bool {
		wait, ok := nodes.Load(s.Addr)
		require.True(t, ok)
		after := wait.(func(int) time.Duration)
		return after == nil || after(0) >= 100*time.Millisecond
	}
	key := keyOf(t, client, c.Masters[0].Addr)
	require.NoError(t, client.Set(t.Context(), key, "before", 0).Err())
	require.True(t, waits(c.Masters[0]))
	replica := redistest.Client(t, c.Replicas[0].Addr)
	require.Eventually(t, func() bool {
		return strings.Contains(replica.Info(t.Context(), "keyspace").Val(), "keys=1")
	}, 20*time.Second, 20*time.Millisecond, "the replica has the key")

	require.NoError(t, c.Masters[0].Freeze())
	defer func() { require.NoError(t, c.Masters[0].Thaw()) }()
	ended := make(chan error, 1)
	go func() { ended <- client.Set(t.Context(), key, "after", 0).Err() }()
	require.Eventually(t, func() bool { return !waits(c.Masters[0]) }, 30*time.Second, time.Millisecond)
	require.True(t, waits(c.Masters[1]))
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the call waits yet")
	}
	require.Equal(t, "after", replica.Get(t.Context(), key).Val())
}

// roleHook calls a function before a node is asked for its role.
type roleHook struct{ before func() }

func (roleHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h roleHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.EqualFold(cmd.Name(), "role") {
			h.before()
		}
		return next(ctx, cmd)
	}
}

func (roleHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The connections to a former master are closed before the present masters are checked, because one of those may be
// slow.
func TestFormerMastersAreLeftFirst(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t)
	conn, err := redisconn.Connect(c.URL() + "?client_name=leaves")
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	client := conn.Client.(*redis.ClusterClient)
	former := redistest.Client(t, c.Masters[0].Addr)
	connected := func() bool { return strings.Contains(former.ClientList(t.Context()).Val(), "name=leaves ") }
	var over, asked, stayed atomic.Bool
	client.OnNewNode(func(node *redis.Client) {
		node.AddHook(roleHook{func() {
			if !over.Load() {
				return
			}
			for until := time.Now().Add(5 * time.Second); connected(); pause.For(t.Context(), time.Millisecond) {
				if time.Now().After(until) {
					stayed.Store(true)
					break
				}
			}
			asked.Store(true)
		}})
	})
	key, elsewhere := keyOf(t, client, c.Masters[0].Addr), keyOf(t, client, c.Masters[1].Addr)
	require.NoError(t, client.Set(t.Context(), key, "v", 0).Err())
	require.True(t, connected())
	replica := redistest.Client(t, c.Replicas[0].Addr)
	require.NoError(t, replica.Do(t.Context(), "CLUSTER", "FAILOVER").Err())
	require.Eventually(t, func() bool {
		for line := range strings.Lines(redistest.Client(t, c.Masters[1].Addr).ClusterNodes(t.Context()).Val()) {
			if strings.Contains(line, c.Masters[0].Addr+"@") {
				return strings.Contains(line, "slave")
			}
		}
		return false
	}, 20*time.Second, 20*time.Millisecond, "the replica takes over")

	over.Store(true)
	require.Eventually(t, func() bool { // a call that takes its time has the masters looked at
		require.ErrorIs(t, client.BLPop(t.Context(), 1500*time.Millisecond, elsewhere).Err(), redis.Nil)
		return asked.Load()
	}, 30*time.Second, time.Millisecond)
	require.False(t, stayed.Load(), "the connections to the former master")
}

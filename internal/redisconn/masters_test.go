package redisconn_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

// soon is how long it may take to find the next master: less than the minute after which go-redis lists the slots by
// itself.
const soon = 40 * time.Second

// The replica of a master that died or hangs is found as soon as it has taken over, and not only when go-redis next
// lists the slots, which is once a minute.
func TestClusterFindsTheNextMaster(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0")
	conn, err := redisconn.Open(t.Context(), c.URL()+"?read_timeout=1h")
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	set := func(key string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return conn.Client.Set(ctx, key, "v", 0).Err()
	}
	// Once the slots of one have been read again, those of the others may be known as well: each is tested separately.
	for i, lose := range []func(*redistest.Server) error{(*redistest.Server).Kill, (*redistest.Server).Freeze} {
		key := keyOf(t, conn.Client.(*redis.ClusterClient), c.Masters[i].Addr)
		require.NoError(t, set(key))
		require.NoError(t, lose(c.Masters[i]))
		underWay := make(chan error, 1)
		go func() { underWay <- conn.Client.Get(t.Context(), key).Err() }()
		replica := redistest.Client(t, c.Replicas[i].Addr)
		require.Eventually(t, func() bool {
			_ = set(key) // as a service does that goes on working
			return strings.Contains(replica.Info(t.Context(), "replication").Val(), "role:master")
		}, time.Minute, 20*time.Millisecond, "the replica takes over")
		require.Eventually(t, func() bool { return set(key) == nil }, soon, 20*time.Millisecond, "master %d", i)
		select {
		case err := <-underWay:
			t.Logf("the call under way ended: %v", err)
		case <-time.After(time.Minute):
			t.Fatal("a call still waits for the old master")
		}
	}
	require.NoError(t, c.Masters[1].Thaw())
}

// A node that was emptied and removed from the cluster redirects no call either.
func TestClusterForgetsRemovedNode(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t)
	conn, err := redisconn.Open(t.Context(), c.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	key := keyOf(t, conn.Client.(*redis.ClusterClient), c.Masters[0].Addr)
	require.NoError(t, conn.Client.Set(t.Context(), key, "v", 0).Err())
	require.NoError(t, conn.Client.Del(t.Context(), key).Err()) // an empty slot is handed over at once

	// The new owner imports the slots, which gives it a new epoch: otherwise the former owner's view of them would win
	// if its epoch is higher. The new owner informs the other nodes.
	former, heir := redistest.Client(t, c.Masters[0].Addr), redistest.Client(t, c.Masters[1].Addr)
	id := func(node *redis.Client) any { return node.Do(t.Context(), "CLUSTER", "MYID").Val() }
	from, to := id(former), id(heir)
	_, err = heir.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for slot := range 16384 / len(c.Masters) { // those of the first
			p.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", from)
			p.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", to)
		}
		return nil
	})
	require.NoError(t, err)
	for _, node := range slices.Concat(c.Masters, c.Replicas) {
		asking := redistest.Client(t, node.Addr)
		empty := regexp.MustCompile(fmt.Sprintf(`(?m)^%s .* connected\n`, from)) // what follows would be slots
		require.Eventually(t, func() bool {
			return empty.MatchString(asking.ClusterNodes(context.Background()).Val())
		}, time.Minute, 20*time.Millisecond, "%s knows that the node has no slots", node.Addr)
	}
	require.NoError(t, c.Masters[0].Kill())

	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return conn.Client.Set(ctx, key, "v", 0).Err() == nil
	}, soon, 20*time.Millisecond)
}

// With Sentinels, the next master is found even if one of them hangs along with the master. Calls in progress and
// subscriptions end, however long their deadlines are.
func TestSentinelFindsTheNextMaster(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *redistest.SentinelSet) error{
		"killed": func(s *redistest.SentinelSet) error { return s.Master.Kill() },
		"frozen": func(s *redistest.SentinelSet) error { return s.Master.Freeze() },
		"frozen with a Sentinel": func(s *redistest.SentinelSet) error {
			return errors.Join(s.Master.Freeze(), s.Sentinels[0].Freeze())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartSentinelSet(t)
			conn, err := redisconn.Open(t.Context(), s.URL()+"&read_timeout=1h")
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close()) }()
			set := func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				return conn.Client.Set(ctx, "k", "v", 0).Err()
			}
			require.NoError(t, set())
			heard := conn.Client.Subscribe(t.Context(), "news")
			defer func() { require.NoError(t, heard.Close()) }()
			_, err = heard.Receive(t.Context())
			require.NoError(t, err)

			require.NoError(t, lose(s))
			underWay := make(chan error, 1)
			go func() { underWay <- conn.Client.Get(t.Context(), "k").Err() }()
			s.AwaitReplica(t.Context(), t, s.Sentinels[1])

			require.Eventually(t, func() bool { return set() == nil }, soon, 20*time.Millisecond)
			select {
			case err := <-underWay:
				t.Logf("the call under way ended: %v", err)
			case <-time.After(time.Minute):
				t.Fatal("a call still waits for the old master")
			}
			news := heard.Channel()
			require.Eventually(t, func() bool {
				_ = conn.Client.Publish(t.Context(), "news", "").Err()
				return len(news) > 0
			}, soon, 20*time.Millisecond, "the subscription is at the new master")
		})
	}
}

// keyOf returns a key that a node has.
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

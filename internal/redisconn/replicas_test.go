package redisconn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/replicated"
)

// confirming opens a connection on which replicas confirm writes.
func confirming(t *testing.T, url, prefix string, replicas replicated.Durability) redis.UniversalClient {
	t.Helper()
	conn, err := redisconn.Connect(url)
	require.NoError(t, err)
	require.NoError(t, conn.Confirm(replicas, prefix+"replicated:"))
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn.Client
}

// once writes the first time, and nothing on a repeat.
const once = `if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], 'v') return 'written' end return 'there'`

func requireMissing(t *testing.T, err error, confirmed, wanted int) {
	t.Helper()
	var missing *replicated.Error
	require.ErrorAs(t, err, &missing)
	require.NoError(t, missing.Cause)
	require.Equal(t, []int{confirmed, wanted}, []int{missing.Confirmed, missing.Wanted})
}

// When a marked call returns, the replica has its writes: of one command, of a script, of several.
func TestMarkedWritesAreAtTheReplica(t *testing.T) {
	t.Parallel()
	r, _, followers := redistest.StartReplicated(t, 1)
	client, ctx := confirming(t, r.URL(), r.Prefix, 1), replicated.Wanted(t.Context())
	at := redistest.Client(t, followers[0].Addr)
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		key = r.Prefix + key
		require.NoError(t, client.Set(ctx, key, "v", 0).Err())
		require.Equal(t, "v", at.Get(t.Context(), key).Val())
		require.Equal(t, "written", client.Eval(ctx, once, []string{key + "!"}).Val())
		require.Equal(t, "v", at.Get(t.Context(), key+"!").Val())
		var got *redis.StringCmd
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, key, "w", 0)
			got = p.Get(ctx, key)
			p.Eval(ctx, once, []string{key + "?"})
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "w", got.Val())
		require.Equal(t, []any{"w", "v"}, at.MGet(t.Context(), key, key+"?").Val())
	}
}

// While the replica is away a marked write is carried out but not acknowledged, and neither is its repeat, which writes
// nothing, on any connection. Reads, and calls without the mark, do not wait. Once the replica is back the repeat is
// acknowledged.
func TestMarkedWritesWithoutTheReplica(t *testing.T) {
	t.Parallel()
	r, master, followers := redistest.StartReplicated(t, 1)
	client, ctx := confirming(t, r.URL(), r.Prefix, 1), replicated.Wanted(t.Context())
	require.NoError(t, client.Set(ctx, r.Prefix+"first", "v", 0).Err())
	require.NoError(t, followers[0].Freeze())
	key := r.Prefix + "k"

	cmd := client.Eval(ctx, once, []string{key})
	requireMissing(t, cmd.Err(), 0, 1)
	require.Equal(t, "written", cmd.Val(), "the answer comes along")
	for _, again := range []redis.UniversalClient{client, confirming(t, r.URL(), r.Prefix, 1)} { // the second one's connections have written nothing
		cmd := again.Eval(ctx, once, []string{key})
		requireMissing(t, cmd.Err(), 0, 1)
		require.Equal(t, "there", cmd.Val())
	}
	var read *redis.StringCmd
	cmds, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		read = p.Get(ctx, key)
		p.Set(ctx, r.Prefix+"more", "v", 0)
		return nil
	})
	requireMissing(t, err, 0, 1)
	requireMissing(t, cmds[1].Err(), 0, 1)
	require.NoError(t, read.Err())

	require.NoError(t, client.Set(t.Context(), key+"2", "v", 0).Err(), "without the mark")
	require.Equal(t, "v", client.Get(ctx, key).Val())
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error { p.Get(ctx, key); p.Exists(ctx, key); return nil })
	require.NoError(t, err)

	require.NoError(t, followers[0].Thaw())
	redistest.AwaitReplicas(t, master, 1)
	cmd = client.Eval(ctx, once, []string{key})
	require.NoError(t, cmd.Err())
	require.Equal(t, "v", redistest.Client(t, followers[0].Addr).Get(t.Context(), key).Val())
}

// Every marked pipeline ends, on its connection, with a write of our own and WAIT: without that write, a Redis that
// counts only the writes of the connection would confirm a repeat that wrote nothing. This also holds for a single
// command.
func TestMarkedWritesGoWithAWriteAndOneWait(t *testing.T) {
	t.Parallel()
	r, master, _ := redistest.StartReplicated(t, 1)
	client, ctx := confirming(t, r.URL(), r.Prefix, 1), replicated.Wanted(t.Context())
	require.NoError(t, client.Set(ctx, r.Prefix+"first", "v", 0).Err())
	monitor := redistest.NewMonitor(t, master.Addr)
	commands := func() (names []string) {
		from := map[string]bool{}
		for _, c := range monitor.Commands() {
			switch c[1] {
			case "HELLO", "CLIENT", "ECHO", "REPLCONF", "PING": // of the monitor, and of the replica
			default:
				names, from[c[0]] = append(names, c[1]), true
			}
		}
		require.Len(t, from, 1, "one connection")
		return names
	}
	require.NoError(t, client.Eval(ctx, once, []string{r.Prefix + "first"}).Err())
	require.Equal(t, []string{"EVAL", "SET", "WAIT"}, commands())
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range 3 {
			p.Eval(ctx, once, []string{r.Prefix + "first"})
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"EVAL", "EVAL", "EVAL", "SET", "WAIT"}, commands())
	require.NoError(t, client.Get(ctx, r.Prefix+"first").Err())
	require.Equal(t, []string{"GET"}, commands())
}

// On a cluster; sequential, because the last one moves a slot.
func TestMarkedWritesOnACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t)
	waitGoesToEachNode(t, c)
	brokenConnectionIsNoDifferent(t, c)
	markFindsASlot(t, c)
}

// On a cluster WAIT is sent to the nodes that wrote: a missing replica delays only writes on its own node.
func waitGoesToEachNode(t *testing.T, c *redistest.Replicated) {
	t.Helper()
	client, ctx := confirming(t, c.URL(), c.Prefix, 1), replicated.Wanted(t.Context())
	cluster := client.(*redis.ClusterClient)
	var keys []string
	for _, master := range c.Masters {
		keys = append(keys, keyOf(t, cluster, master.Addr))
	}
	write := func() (errs []error) {
		cmds, _ := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range keys {
				p.Eval(ctx, once, []string{key})
			}
			return nil
		})
		for i, cmd := range cmds {
			errs = append(errs, cmd.Err())
			alone := client.Eval(ctx, once, []string{keys[i]}).Err()
			require.Equal(t, cmd.Err() == nil, alone == nil, "by itself it is no different")
		}
		return errs
	}
	require.Equal(t, []error{nil, nil, nil}, write())
	for i, key := range keys {
		at := redistest.Client(t, c.Replicas[i].Addr)
		require.NoError(t, at.ReadOnly(t.Context()).Err())
		require.EqualValues(t, 1, at.Do(t.Context(), "CLUSTER", "COUNTKEYSINSLOT", at.ClusterKeySlot(t.Context(), key).Val()).Val())
	}
	require.NoError(t, c.Replicas[1].Freeze())
	errs := write()
	require.NoError(t, errs[0])
	requireMissing(t, errs[1], 0, 1)
	require.NoError(t, errs[2])
	require.NoError(t, c.Replicas[1].Thaw())
}

// A connection of the cluster breaks while it waits: go-redis sends the commands of the node again, each by its slot,
// and WAIT has none. They are confirmed nevertheless.
func brokenConnectionIsNoDifferent(t *testing.T, c *redistest.Replicated) {
	t.Helper()
	client, ctx := confirming(t, c.URL(), c.Prefix, 1), replicated.Wanted(t.Context())
	key, master := keyOf(t, client.(*redis.ClusterClient), c.Masters[0].Addr), redistest.Client(t, c.Masters[0].Addr)
	require.NoError(t, client.Set(ctx, key, "v", 0).Err())
	require.NoError(t, c.Replicas[0].Freeze())
	written := make(chan error, 1)
	go func() {
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, key, "w", 0)
			p.Eval(ctx, once, []string{key})
			return nil
		})
		written <- err
	}()
	require.Eventually(t, func() bool { return strings.Contains(master.Info(t.Context(), "clients").Val(), "blocked_clients:1") }, time.Minute, time.Millisecond)
	require.NoError(t, master.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	require.NoError(t, c.Replicas[0].Thaw())
	require.NoError(t, <-written)
}

// The slot of the mark moves to another node, or is about to: the next call finds another slot, and is confirmed.
func markFindsASlot(t *testing.T, c *redistest.Replicated) {
	t.Helper()
	client, ctx := confirming(t, c.URL(), c.Prefix, 1), replicated.Wanted(t.Context())
	cluster := client.(*redis.ClusterClient)
	source, target := redistest.Client(t, c.Masters[0].Addr), redistest.Client(t, c.Masters[1].Addr)
	key := keyOf(t, cluster, c.Masters[0].Addr)
	require.NoError(t, client.Set(ctx, key, "v", 0).Err())
	marks := func() []string {
		found, err := source.Keys(t.Context(), c.Prefix+"replicated:*").Result()
		require.NoError(t, err)
		return found
	}
	first := marks()
	require.Len(t, first, 1)
	slot := source.ClusterKeySlot(t.Context(), first[0]).Val()
	require.NotEqual(t, source.ClusterKeySlot(t.Context(), key).Val(), slot)
	from, to := source.Do(t.Context(), "CLUSTER", "MYID").Val(), target.Do(t.Context(), "CLUSTER", "MYID").Val()
	require.NoError(t, source.Del(t.Context(), first[0]).Err())
	require.NoError(t, target.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", from).Err())
	require.NoError(t, source.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", to).Err())

	cmds, err := client.Pipelined(ctx, func(p redis.Pipeliner) error { p.Set(ctx, key, "w", 0); p.Get(ctx, key); return nil })
	require.NoError(t, err)
	require.Equal(t, "w", cmds[1].(*redis.StringCmd).Val())
	require.NotEqual(t, first, marks())

	for _, node := range []*redis.Client{target, source} {
		require.NoError(t, node.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", to).Err())
	}
	there, err := target.Exists(t.Context(), first[0]).Result()
	require.NoError(t, err)
	require.Zero(t, there, "the mark goes to no other node")
	require.NoError(t, client.Set(ctx, first[0], "v", 0).Err(), "a write of the slot that moved goes with it, WAIT too")
	require.Equal(t, "v", target.Get(t.Context(), first[0]).Val())
}

// If two replicas are required, both must confirm.
func TestMarkedWritesNeedAllReplicasAskedFor(t *testing.T) {
	t.Parallel()
	r, _, followers := redistest.StartReplicated(t, 2)
	ctx := replicated.Wanted(t.Context())
	require.NoError(t, confirming(t, r.URL(), r.Prefix, 2).Set(ctx, r.Prefix+"k", "v", 0).Err())
	require.NoError(t, followers[1].Kill())
	requireMissing(t, confirming(t, r.URL(), r.Prefix, 2).Set(ctx, r.Prefix+"k", "w", 0).Err(), 1, 2)
	require.NoError(t, confirming(t, r.URL(), r.Prefix, 1).Set(ctx, r.Prefix+"k", "x", 0).Err())
}

// A mark that Redis refuses, or a WAIT that it does not allow, confirms nothing.
func TestRefusedWaitConfirmsNothing(t *testing.T) {
	t.Parallel()
	r, _, _ := redistest.StartReplicated(t, 1)
	require.NoError(t, r.Client.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-wait").Err())
	client := confirming(t, "redis://app:pw@"+r.Addr, r.Prefix, 1)
	err := client.Set(replicated.Wanted(t.Context()), r.Prefix+"k", "v", 0).Err()
	var missing *replicated.Error
	require.ErrorAs(t, err, &missing)
	require.True(t, redis.IsPermissionError(missing.Cause), err)
}

func TestConfirmRefuses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                     "the embedded Redis has no replicas that could confirm a write",
		"redis://127.0.0.1:1/0?read_timeout=1": "the read_timeout of the Redis address is 1s: with replicas that confirm writes it must be at least 2s",
	} {
		conn, err := redisconn.Connect(url)
		require.NoError(t, err)
		require.EqualError(t, conn.Confirm(1, "p:"), want)
		require.NoError(t, conn.Confirm(0, "p:"), "nothing is asked of it")
		require.NoError(t, conn.Close())
	}
}

// A transaction cannot wait for replicas, so a marked one is not carried out.
func TestMarkedTransactionIsRefused(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	client, ctx := confirming(t, r.URL(), r.Prefix, 1), replicated.Wanted(t.Context())
	_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Set(ctx, r.Prefix+"k", "v", 0); return nil })
	require.EqualError(t, err, "a transaction cannot wait for replicas")
	require.Zero(t, r.Client.Exists(t.Context(), r.Prefix+"k").Val())
}

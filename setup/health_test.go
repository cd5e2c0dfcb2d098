package setup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/setup"
)

// Servers as operators set them up, and the verdicts about them.
func TestVerdictsOfServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args    []string
		env     map[string]string
		code    int
		check   string
		verdict setup.Verdict
		message string
	}{
		"a cache": {
			[]string{"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"},
			nil,
			1, "eviction", setup.Fail, "maxmemory-policy allkeys-lru evicts data when memory is full",
		},
		"keys with a time to live only": {
			[]string{"--maxmemory", "64mb", "--maxmemory-policy", "volatile-lru"},
			nil,
			0, "eviction", setup.Warn, "maxmemory-policy volatile-lru evicts keys with a time to live",
		},
		"a policy without a limit": {
			[]string{"--maxmemory-policy", "allkeys-lru"},
			nil,
			0, "eviction", setup.OK, "allkeys-lru, but without effect: maxmemory is not set",
		},
		"a limit without eviction": {
			[]string{"--maxmemory", "64mb"}, nil, 0, "eviction", setup.OK, "noeviction",
		},
		"nearly full": {
			[]string{"--maxmemory", "1100kb"}, nil, 0, "memory", setup.Warn, "of 1.1 MB",
		},
		"AOF": {
			[]string{"--appendonly", "yes"}, nil, 0, "persistence", setup.OK, "AOF is on, appendfsync everysec",
		},
		"AOF at the system's leisure": {
			[]string{"--appendonly", "yes", "--appendfsync", "no"},
			nil,
			0, "persistence", setup.Warn, "AOF is on, but the operating system decides when data reaches the disk",
		},
		"snapshots only": {
			[]string{"--save", "3600 1"}, nil, 0, "persistence", setup.Warn, "AOF is off, there are only snapshots (save 3600 1)",
		},
		"nothing on disk in production": {
			nil, map[string]string{"WORKFLOW_WORLD_ENV": "production"}, 1, "persistence", setup.Fail, "nothing is written to disk",
		},
		"CONFIG forbidden": {
			[]string{"--rename-command", "CONFIG", ""},
			nil,
			0, "persistence", setup.Warn, "AOF is off; it is unknown whether there are snapshots",
		},
		"CONFIG forbidden, INFO tells": {
			[]string{"--rename-command", "CONFIG", "", "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"},
			nil,
			1, "eviction", setup.Fail, "maxmemory-policy allkeys-lru",
		},
		"INFO forbidden": {
			[]string{"--rename-command", "INFO", ""}, nil, 0, "eviction", setup.Warn, "unknown",
		},
		"WAIT forbidden": {
			[]string{"--rename-command", "WAIT", ""},
			map[string]string{"WORKFLOW_WORLD_DURABILITY": "replicas"},
			1, "replicas", setup.Fail, "the replicas cannot confirm writes",
		},
		"too few replicas": {
			nil, map[string]string{"WORKFLOW_WORLD_DURABILITY": "replicas:2"}, 0, "replicas", setup.Warn, "0 connected, and WORKFLOW_WORLD_DURABILITY requires 2",
		},
		"a replica": {
			[]string{"--replicaof", "127.0.0.1 1"}, nil, 1, "mode", setup.Fail, "the server is a replica and accepts no writes",
		},
		"one node of a cluster": {
			[]string{"--cluster-enabled", "yes"}, nil, 1, "mode", setup.Fail, "the server is a node of a cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, c.args...)
			code, out, errOut := command(t, c.env, "", "--redis", "redis://"+server.Addr, "--json")
			r := report(t, out)
			got := check(t, r, c.check)
			require.Equal(t, c.verdict, got.Verdict, got.Message)
			require.Contains(t, got.Message, c.message)
			require.Equal(t, c.verdict == setup.OK, got.Advice == "", "advice: %s", got.Advice)
			require.Equal(t, c.code, code, out)
			require.Empty(t, errOut)
			if c.code == 1 {
				require.Equal(t, setup.Fail, r.Verdict)
			}
		})
	}
}

func TestReplicasThatConfirm(t *testing.T) {
	t.Parallel()
	r, _, _ := redistest.StartReplicated(t, 1)
	environ := map[string]string{"WORKFLOW_WORLD_DURABILITY": "replicas"}
	code, out, errOut := command(t, environ, "", "--redis", r.URL(), "--json")
	require.Equal(t, 0, code, errOut)
	require.Equal(t, setup.Check{Name: "replicas", Verdict: setup.OK, Message: "1 connected, 1 confirm each write"}, check(t, report(t, out), "replicas"))
	environ["WORKFLOW_WORLD_DURABILITY"] = "replicas:0"
	code, _, errOut = command(t, environ, "", "--redis", r.URL())
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `WORKFLOW_WORLD_DURABILITY: "replicas:0": use local, replicas or replicas:n`)
}

// A cluster node without slots is unsuitable, also when addressed as a cluster.
func TestAClusterWithoutSlotsFails(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	client := redistest.Client(t, server.Addr)
	require.NoError(t, client.ClusterAddSlotsRange(t.Context(), 0, 16000).Err())
	code, out, errOut := command(t, nil, "", "--redis", "redis+cluster://"+server.Addr, "--json")
	require.Equal(t, 1, code, errOut)
	require.Equal(t, setup.Check{
		Name: "cluster", Verdict: setup.Fail, Message: "state fail, 16001 of 16384 slots covered",
		Advice: "Repair the cluster: redis-cli --cluster fix.",
	}, check(t, report(t, out), "cluster"))
}

// A cluster of one node: it has every slot, and a flush crosses slots.
func TestAClusterIsCheckedAndFlushed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	client := redistest.Client(t, server.Addr)
	ctx := t.Context()
	require.NoError(t, client.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(client.ClusterInfo(ctx).Val(), "cluster_state:ok")
	}, waitLong, tick)
	for i := range 100 {
		require.NoError(t, client.Set(ctx, fmt.Sprintf("workflow:run:{%d}", i), "x", 0).Err())
	}
	address := "redis+cluster://" + server.Addr
	code, out, errOut := command(t, nil, "", "--redis", address, "--json")
	require.Equal(t, 0, code, errOut)
	r := report(t, out)
	require.Equal(t, map[string]int64{"run": 100}, counts(r))
	require.Equal(t, "all 16384 slots covered by 1 masters", check(t, r, "cluster").Message)
	code, out, errOut = command(t, nil, "", "--redis", address, "--flush", "--yes", "--json")
	require.Equal(t, 0, code, errOut)
	require.Equal(t, int64(100), report(t, out).Flushed.Deleted)
	require.Equal(t, int64(0), client.DBSize(ctx).Val())
}

package redisconn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

// The replication ids are those of the masters, stay the same while the masters do, and change with a restart and with
// each failover: the service then knows that Redis may lack acknowledged writes.
func TestReplicationIDsChangeWithTheMaster(t *testing.T) {
	t.Parallel()
	for mode, begin := range map[string]func(t *testing.T) (url string, masters int, change func() error){
		"standalone, restarted": func(t *testing.T) (string, int, func() error) {
			s := redistest.Start(t)
			return "redis://" + s.Addr, 1, func() error {
				if err := s.Kill(); err != nil {
					return err
				}
				return s.Restart()
			}
		},
		"sentinel": func(t *testing.T) (string, int, func() error) {
			r, master := redistest.StartSentinel(t)
			return r.URL(), 1, master.Kill
		},
		"cluster, a planned failover": func(t *testing.T) (string, int, func() error) {
			c := redistest.StartReplicatedCluster(t)
			return c.URL(), len(c.Masters), c.FailOver
		},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			url, masters, change := begin(t)
			conn, err := redisconn.Open(t.Context(), url)
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close()) }()
			before, err := conn.ReplicationIDs(t.Context())
			require.NoError(t, err)
			require.Len(t, before, masters)
			again, err := conn.ReplicationIDs(t.Context())
			require.NoError(t, err)
			require.ElementsMatch(t, before, again)
			dials := conn.Dials()
			require.NotZero(t, dials)
			require.NoError(t, change())
			require.Eventually(t, func() bool {
				now, err := conn.ReplicationIDs(t.Context())
				return err == nil && len(now) == masters && !slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) })
			}, time.Minute, 20*time.Millisecond)
			require.Greater(t, conn.Dials(), dials)
		})
	}
	embedded, err := redisconn.Open(t.Context(), "")
	require.NoError(t, err)
	none, err := embedded.ReplicationIDs(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	require.NoError(t, embedded.Close())
}

// A replica that is mistaken for a master has no replication id.
func TestAReplicaHasNoReplicationID(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--replicaof", "127.0.0.1 1")
	conn, err := redisconn.Open(t.Context(), "redis://"+s.Addr)
	require.NoError(t, err)
	_, err = conn.ReplicationIDs(t.Context())
	require.ErrorContains(t, err, `reports role "slave"`)
	require.NoError(t, conn.Close())
}

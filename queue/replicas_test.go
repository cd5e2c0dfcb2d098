package queue_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue"
)

// A replica announces its build before asynq lists its servers, so it never looks like one of an older build.
func TestReplicasAnnounceTheirBuilds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		c := config(r, newApp(always(world.Outcome{Verdict: world.Done})))
		c.Version = "v1.2 beta"
		host, err := os.Hostname()
		require.NoError(t, err)
		q := run(t, newQueue(t, r.Client, c))
		var all []queue.Replica
		require.Eventually(t, func() bool {
			all, err = q.Replicas(t.Context())
			require.NoError(t, err)
			return len(all) > 0
		}, patience, time.Millisecond)
		require.Equal(t, []queue.Replica{{Host: host, PID: os.Getpid(), Version: "v1.2_beta", Knows: queue.KnowsRemovals}}, all)

		// Builds that do not announce themselves, as far as asynq knows them.
		until := float64(time.Now().Add(time.Minute).Unix())
		key := "asynq:servers:{fe80::1:77:" + strings.TrimSuffix(r.Prefix, ":") + "}"
		require.NoError(t, r.Client.ZAdd(t.Context(), "asynq:servers", redis.Z{Score: until, Member: key}).Err())
		name := c.JobPrefix + "steps"
		require.NoError(t, r.Client.Set(t.Context(), key, "\x2a\x00\x0a"+string(rune(len(name)))+name+"\x10\x01", time.Minute).Err())
		all, err = q.Replicas(t.Context())
		require.NoError(t, err)
		require.Contains(t, all, queue.Replica{Host: "fe80::1", PID: 77})
		require.Len(t, all, 2)
		require.NoError(t, r.Client.ZAdd(t.Context(), "asynq:servers", redis.Z{Score: 1, Member: key}).Err(), "it was killed")
		all, err = q.Replicas(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.NoError(t, r.Client.ZRem(t.Context(), "asynq:servers", key).Err())
		q.stop()
		all, err = q.Replicas(t.Context())
		require.NoError(t, err)
		require.Empty(t, all)
	})
}

package queue

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

var oneCommand = regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+)`)

// commands is the number of commands that a Redis has counted, including those inside scripts.
func commands(t *testing.T, r *redistest.Redis) map[string]int {
	t.Helper()
	info, err := r.Client.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, m := range oneCommand.FindAllStringSubmatch(info, -1) {
		counts[m[1]], err = strconv.Atoi(m[2])
		require.NoError(t, err)
	}
	return counts
}

// BR-62: the upkeep of a queue without work is three commands, including those inside the script. A process has one
// subscription, not one per queue in addition.
func TestBR62IdleQueueAsksLittle(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := &redistest.Redis{Client: redistest.Client(t, s.Addr), Addr: s.Addr, Prefix: "idle:", Mode: redisconn.Standalone}
	q := replica(t, r, nil, nil0)
	const sweeps = 10
	require.NoError(t, r.Client.ConfigResetStat(t.Context()).Err())
	for range sweeps {
		sweep(t, q.steps)
	}
	require.Equal(t, map[string]int{"evalsha": sweeps, "exists": sweeps, "time": sweeps, "config|resetstat": 1}, commands(t, r))

	// With a message in delivery it checks everything.
	add(t, q)
	claimOne(t, q.steps)
	require.NoError(t, r.Client.ConfigResetStat(t.Context()).Err())
	sweep(t, q.steps)
	require.Equal(t, 3, commands(t, r)["zrange"])

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- q.Run(ctx) }()
	require.Eventually(t, func() bool {
		return r.Client.PubSubNumSub(t.Context(), q.flows.Keys.Bell).Val()[q.flows.Keys.Bell] == 1
	}, time.Minute, time.Millisecond)
	list, err := r.Client.Do(t.Context(), "client", "list", "type", "pubsub").Text()
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(list, "\n"), list)
	stop()
	require.NoError(t, <-ended)
}

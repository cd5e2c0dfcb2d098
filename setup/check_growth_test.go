package setup_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/setup"
)

// The command says when Redis is full, and warns if that is soon. What to do depends on whether runs have a retention.
func TestGrowth(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := redistest.Client(t, s.Addr)
	env := map[string]string{"WORKFLOW_REDIS_URL": "redis://" + s.Addr}
	grown := func() (setup.Check, *setup.Growth) {
		code, out, errOut := command(t, env, "", "--json")
		require.Equal(t, 0, code, errOut)
		r := report(t, out)
		return check(t, r, "growth"), r.Growth
	}
	found, growth := grown()
	require.Equal(t, setup.OK, found.Verdict)
	require.Regexp(t, `^Redis uses .*; how fast it grows is known after an hour$`, found.Message)
	require.Nil(t, growth)

	now := time.Now().UnixMilli()
	for i := range 100 {
		require.NoError(t, c.ZAdd(t.Context(), "workflow:runs:index", redis.Z{Score: float64(now), Member: strconv.Itoa(i)}).Err())
	}
	require.NoError(t, c.Set(t.Context(), "workflow:run:{x}", strings.Repeat("x", 16<<20), 0).Err())
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(256<<20)).Err())
	found, growth = grown()
	require.Equal(t, setup.Warn, found.Verdict)
	require.Regexp(t, `^Redis grows by about \d\d MB a day \(100 runs of \d+ KB on average\); maxmemory of 256 MB is reached in \d+ days$`, found.Message)
	require.Equal(t, "Set WORKFLOW_WORLD_RETENTION, so that finished runs leave Redis, or give Redis more memory: when it is full, calls fail.", found.Advice)
	require.True(t, growth.Estimated)
	require.EqualValues(t, 100, growth.RunsPerDay)
	require.EqualValues(t, 256<<20, growth.LimitBytes)
	require.Positive(t, growth.FullInSeconds)

	env["WORKFLOW_WORLD_RETENTION"] = "completed=7d"
	found, _ = grown()
	require.Equal(t, "Give Redis more memory, or shorten WORKFLOW_WORLD_RETENTION: when it is full, calls fail.", found.Advice)

	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(64<<30)).Err())
	found, _ = grown()
	require.Equal(t, setup.OK, found.Verdict)
	require.Empty(t, found.Advice)
}

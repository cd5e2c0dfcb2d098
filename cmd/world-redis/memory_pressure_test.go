package main

import (
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// A Redis that is fuller than the setting allows loses finished runs a day before their time, but none that has just ended. A metric
// counts them.
func TestAFullRedisLosesFinishedRunsEarly(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := redistest.Client(t, s.Addr)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(64<<20)).Err())
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one", "WORKFLOW_WORLD_RETENTION=failed=1d", "WORKFLOW_WORLD_PRESSURE=50%")
	runs := runsOf(t, base)
	var ended []string
	for range 4 {
		runID := newRunOf(t, base, "wf", nil)
		callAs(t, base, "one", "/v1/runs/"+runID+"/events", failRun)
		ended = append(ended, runID)
	}
	for _, runID := range ended[:3] {
		require.NoError(t, c.HSet(t.Context(), "workflow:run:{"+runID+"}", "ca", time.Now().Add(-20*time.Minute).UnixMilli()).Err())
	}
	// Each run enters runs:due after its end.
	require.Eventually(t, func() bool { return c.ZCard(t.Context(), "workflow:runs:due").Val() == 4 }, time.Minute, 10*time.Millisecond)
	require.NoError(t, c.SetRange(t.Context(), "filler", 40<<20, "x").Err())
	require.Eventually(t, func() bool {
		out, err := runs("ls", "--json")
		require.NoError(t, err)
		return len(listedRuns(t, out)) == 1
	}, time.Minute, 100*time.Millisecond)
	out, err := runs("ls", "--json")
	require.NoError(t, err)
	require.Equal(t, ended[3:], listedRuns(t, out))

	res, err := http.DefaultTransport.RoundTrip(metricsRequest(t, base))
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Contains(t, string(text), "\nworld_redis_runs_removed_total{reason=\"pressure\"} 3\n")
	require.NoError(t, stop())
}

// Without maxmemory, or below the share, nothing is too full.
func TestPressureIsAShareOfMaxmemory(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := redistest.Client(t, s.Addr)
	var share memoryShare
	require.Nil(t, share.pressure(c))
	require.NoError(t, share.UnmarshalText([]byte("80%")))
	require.Equal(t, "80%", share.String())
	over := share.pressure(c)
	for limit, want := range map[int]string{0: `^$`, 1 << 30: `^$`, 1: `^[\d.]+ [KM]B of 1 bytes \(\d+ %\)$`} {
		require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(limit)).Err())
		text, err := over(t.Context())
		require.NoError(t, err)
		require.Regexp(t, want, text, limit)
	}
	for _, text := range []string{"80", "0%", "100%", "x%", "%", "8.5%"} {
		require.EqualError(t, share.UnmarshalText([]byte(text)), strconv.Quote(text)+" is not a share of maxmemory such as 80%: use 1% to 99%")
	}
	_, _, err := loadConfig([]string{"WORKFLOW_WORLD_PRESSURE=80%"})
	require.EqualError(t, err, "WORKFLOW_WORLD_PRESSURE removes runs before their retention is over, and they have none: set WORKFLOW_WORLD_RETENTION, too")
}

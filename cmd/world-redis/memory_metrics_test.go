package main

import (
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// The metrics say how full Redis is. What is not known yet is absent.
func TestMetricsOfRedisMemory(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	require.NoError(t, redistest.Client(t, s.Addr).ConfigSet(t.Context(), "maxmemory", strconv.Itoa(1<<30)).Err())
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr)
	res, err := http.DefaultTransport.RoundTrip(metricsRequest(t, base))
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Regexp(t, `\nworld_redis_redis_memory_bytes [1-9]`, string(text))
	require.Regexp(t, `\nworld_redis_redis_memory_limit_bytes 1\.073741824e\+09\n`, string(text))
	require.NotContains(t, string(text), "\nworld_redis_redis_memory_growth_bytes_per_day")
	require.NoError(t, stop())
}

// metricsRequest reads the metrics of a service on its own connection.
func metricsRequest(t *testing.T, base string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/metrics", nil)
	require.NoError(t, err)
	req.Close = true
	return req
}

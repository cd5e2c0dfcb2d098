package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// loadingRedis is a Redis that loads its data slowly until the returned function is called.
func loadingRedis(t *testing.T) (addr string, hurry func()) {
	t.Helper()
	server := redistest.Start(t, "--rdbcompression", "no")
	client := redistest.Client(t, server.Addr)
	pairs := make([]any, 0, 6000)
	for i := range cap(pairs) / 2 {
		pairs = append(pairs, fmt.Sprint(i), strings.Repeat("v", 1024))
	}
	require.NoError(t, client.MSet(t.Context(), pairs...).Err())
	require.NoError(t, client.Save(t.Context()).Err())
	require.NoError(t, server.Kill())
	// A minute in steps of 20 ms per key, after each of which Redis handles its connections.
	require.NoError(t, server.Launch("--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024"))
	require.Eventually(t, func() bool {
		err := client.Get(t.Context(), "1").Err()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	}, time.Minute, 10*time.Millisecond)
	return server.Addr, func() { require.NoError(t, client.ConfigSet(t.Context(), "key-load-delay", "0").Err()) }
}

func TestServeWaitsForARedisThatLoadsItsData(t *testing.T) {
	t.Parallel()
	addr, hurry := loadingRedis(t)
	listen := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	c, _, err := loadConfig([]string{"WORKFLOW_WORLD_LISTEN=" + listen, "WORKFLOW_REDIS_URL=redis://" + addr})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended, logged, out := make(chan error, 1), &worldtest.Log{}, &worldtest.Log{}
	go func() { ended <- serve(ctx, c, slog.New(slog.NewTextHandler(logged, nil)), out) }()

	base := "http://" + listen
	require.Eventually(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listen)
		return err == nil && conn.Close() == nil
	}, time.Minute, 10*time.Millisecond)
	status, body := get(t, base+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "Redis is not ready yet")
	status, _ = get(t, base+"/v1/runs")
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, body = get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ok"}`, body)
	require.NotNil(t, logged.Find(regexp.MustCompile(`level=WARN msg="Redis is not ready.*LOADING`)))
	require.Nil(t, out.Find(regexp.MustCompile(`listens on`)))

	hurry()
	require.Eventually(t, func() bool { return out.Find(regexp.MustCompile(`listens on`)) != nil }, time.Minute, 10*time.Millisecond)
	status, _ = get(t, base+"/readyz")
	require.Equal(t, http.StatusOK, status)
	stop()
	require.NoError(t, <-ended)
}

func TestServeThatWaitsForRedisCanBeStopped(t *testing.T) {
	t.Parallel()
	addr, _ := loadingRedis(t)
	c, _, err := loadConfig([]string{"WORKFLOW_WORLD_LISTEN=127.0.0.1:0", "WORKFLOW_REDIS_URL=redis://" + addr})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended, logged := make(chan error, 1), &worldtest.Log{}
	go func() { ended <- serve(ctx, c, slog.New(slog.NewTextHandler(logged, nil)), io.Discard) }()
	require.Eventually(t, func() bool { return logged.Find(regexp.MustCompile(`Redis is not ready`)) != nil }, time.Minute, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
}

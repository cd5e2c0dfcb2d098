package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// Old and new replicas may run together during an upgrade, but never two that use different formats.
func TestBR01DataOfAnotherFormatIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Client(t, server.Addr)
	for _, other := range []string{"0", "1", "x"} {
		require.NoError(t, client.FlushDB(t.Context()).Err())
		require.NoError(t, client.Set(t.Context(), "workflow:format", other, 0).Err())
		c, _, err := loadConfig(append(os.Environ(), "WORKFLOW_WORLD_LISTEN=127.0.0.1:0", "WORKFLOW_REDIS_URL=redis://"+server.Addr))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err = serve(ctx, c, slog.New(slog.DiscardHandler), io.Discard)
		cancel()
		require.ErrorContains(t, err, `the data under the prefix "workflow:" is of format "`+other+`" (key workflow:format)`)
		require.ErrorContains(t, err, "knows format "+dataFormat+" only")
		keys, err := client.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		require.Equal(t, []string{"workflow:format"}, keys)
	}
}

func TestReplicasOfOneFormatStartSideBySide(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Client(t, server.Addr)
	_, _, stopOne := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr, "WORKFLOW_WORLD_NAMESPACES=shop=s1")
	_, _, stopTwo := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr, "WORKFLOW_WORLD_NAMESPACES=shop=s1")
	for _, key := range []string{"workflow:format", "workflow:ns:shop:format"} {
		format, err := client.Get(t.Context(), key).Result()
		require.NoError(t, err)
		require.Equal(t, dataFormat, format, key)
	}
	require.NoError(t, stopOne())
	require.NoError(t, stopTwo())
}

// FLUSHALL removes the format key. A running service writes it again, but never over that of a faster build.
func TestTheFormatIsWrittenAgainWhenRedisLostIt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Client(t, server.Addr)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr, "WORKFLOW_WORLD_NAMESPACES=shop=s1")
	require.NoError(t, client.FlushAll(t.Context()).Err())
	ready := func() int { status, _ := get(t, base+"/readyz"); return status }
	require.Eventually(t, func() bool {
		return ready() == http.StatusOK && client.Exists(t.Context(), "workflow:format", "workflow:ns:shop:format").Val() == 2
	}, time.Minute, 20*time.Millisecond)
	for _, key := range []string{"workflow:format", "workflow:ns:shop:format"} {
		require.Equal(t, dataFormat, client.Get(t.Context(), key).Val(), key)
	}

	require.NoError(t, client.Set(t.Context(), "workflow:ns:shop:format", "1", 0).Err())
	require.Eventually(t, func() bool { return ready() == http.StatusServiceUnavailable }, time.Minute, 20*time.Millisecond)
	require.Equal(t, "1", client.Get(t.Context(), "workflow:ns:shop:format").Val())
	require.NoError(t, stop())
}

// Even without readiness checks, the service ends when its data belongs to another build.
func TestAServiceKeepsItsFormatAndEndsOnAnother(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	key := r.Prefix + "format"
	f := &formatClaim{client: r.Client, prefix: r.Prefix, every: time.Millisecond, logger: slog.New(slog.DiscardHandler)}
	ended := make(chan error, 1)
	go func() { ended <- f.Run(t.Context()) }()
	for range 2 {
		require.Eventually(t, func() bool { return r.Client.Get(t.Context(), key).Val() == dataFormat }, time.Minute, time.Millisecond)
		require.NoError(t, r.Client.Del(t.Context(), key).Err())
	}
	require.NoError(t, r.Client.Set(t.Context(), key, "1", 0).Err())
	require.ErrorContains(t, <-ended, `is of format "1" (key `+key+`)`)
	require.Equal(t, "1", r.Client.Get(t.Context(), key).Val())
}

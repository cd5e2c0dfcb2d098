package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// An upgrade may have old and new replicas side by side; of another format there must be none.
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

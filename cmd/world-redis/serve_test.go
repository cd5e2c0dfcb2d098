package main

import (
	"context"
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

// startService runs serve until the returned stop is called, which returns its error.
func startService(t *testing.T, environ ...string) (base string, out *worldtest.Log, stop func() error) {
	t.Helper()
	c, _, err := loadConfig(append([]string{"WORKFLOW_WORLD_LISTEN=127.0.0.1:0", "WORKFLOW_WORLD_SHUTDOWN_GRACE=2s"}, environ...))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	out = &worldtest.Log{}
	go func() { ended <- serve(ctx, c, slog.New(slog.DiscardHandler), out) }()
	pattern := regexp.MustCompile(`listens on (http://\S+),`)
	require.Eventually(t, func() bool { return out.Find(pattern) != nil }, time.Minute, 10*time.Millisecond)
	return out.Find(pattern)[1], out, func() error {
		cancel()
		return <-ended
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

func TestServeWithNothingConfiguredSaysThatDataIsLostAndHowToPointAnAppHere(t *testing.T) {
	t.Parallel()
	base, out, stop := startService(t)
	require.NotNil(t, out.Find(regexp.MustCompile(`ALL DATA IS LOST AT EXIT`)))
	require.NotNil(t, out.Find(regexp.MustCompile(`WORKFLOW_TARGET_WORLD=@world-redis/client\n\s+WORKFLOW_WORLD_URL=`+regexp.QuoteMeta(base))))
	status, _ := get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status)
	status, _ = get(t, base+"/readyz")
	require.Equal(t, http.StatusOK, status)
	status, body := get(t, base+"/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `world_redis_queue_messages{queue="workflow_flows",state="pending"} 0`)
	require.Contains(t, body, "\nworld_redis_runs_lost_total 0\n")
	require.Contains(t, body, "\nworld_redis_steps_mended_total 0\n")
	require.NoError(t, stop())
}

func TestReadyIsFalseWhileRedisIsAwayAndTrueAgainAfterwards(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	base, out, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr)
	require.Nil(t, out.Find(regexp.MustCompile(`LOST`)), "a real Redis keeps its data")
	status, _ := get(t, base+"/readyz")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, server.Stop())
	var body string
	require.Eventually(t, func() bool { status, body = get(t, base+"/readyz"); return status == http.StatusServiceUnavailable }, time.Minute, 50*time.Millisecond)
	require.Regexp(t, `"message":"Redis (is not reachable|did not answer in time)"`, body)
	require.NotContains(t, body, server.Addr)
	status, _ = get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status, "the process lives: restarting it would not help")
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { status, _ := get(t, base+"/readyz"); return status == http.StatusOK }, time.Minute, 50*time.Millisecond)
	require.NoError(t, stop())
}

func TestMetricsHaveAnAddressAndATokenOfTheirOwn(t *testing.T) {
	t.Parallel()
	base, out, stop := startService(t, "WORKFLOW_WORLD_METRICS_LISTEN=127.0.0.1:0", "WORKFLOW_WORLD_METRICS_TOKEN=older,new")
	metrics := out.Find(regexp.MustCompile(`metrics are at (http://\S+)\n`))
	require.NotNil(t, metrics)
	status, _ := get(t, base+"/metrics")
	require.Equal(t, http.StatusNotFound, status)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "old": http.StatusUnauthorized, "older": http.StatusOK, "new": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, metrics[1], nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, token)
		require.Equal(t, want == http.StatusOK, strings.Contains(string(body), "world_redis_queue_messages"), token)
	}
	require.NoError(t, stop())
}

func TestServeRefusesToStart(t *testing.T) {
	t.Parallel()
	for story, c := range map[string]struct{ variable, want string }{
		"on an address that others reach, without a token": {"WORKFLOW_WORLD_LISTEN=0.0.0.0:0", "WORKFLOW_WORLD_TOKEN"},
		"when its Redis does not answer":                   {"WORKFLOW_REDIS_URL=redis://:secret@127.0.0.1:1", "no Redis answers at redis://:xxxxx@127.0.0.1:1"},
	} {
		config, _, err := loadConfig([]string{c.variable})
		require.NoError(t, err)
		err = serve(t.Context(), config, slog.New(slog.DiscardHandler), io.Discard)
		require.ErrorContains(t, err, c.want, story)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestServeFailsWhenItsAddressIsTaken(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	config, _, err := loadConfig([]string{"WORKFLOW_WORLD_LISTEN=" + l.Addr().String()})
	require.NoError(t, err)
	require.ErrorContains(t, serve(t.Context(), config, slog.New(slog.DiscardHandler), io.Discard), "address already in use")
}

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/setup"
)

// serveOnce starts the service and stops it as soon as it listens. It returns its log and the error of a start that failed.
func serveOnce(t *testing.T, environ ...string) (logged string, err error) {
	t.Helper()
	c, _, err := loadConfig(append([]string{"WORKFLOW_WORLD_LISTEN=127.0.0.1:0"}, environ...))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended, log, out := make(chan error, 1), &worldtest.Log{}, &worldtest.Log{}
	go func() { ended <- serve(ctx, c, slog.New(slog.NewTextHandler(log, nil)), out) }()
	started := time.NewTicker(5 * time.Millisecond)
	defer started.Stop()
	for {
		select {
		case err := <-ended:
			return log.String(), err
		case <-started.C:
			if out.Find(regexp.MustCompile(`listens on`)) != nil {
				stop()
			}
		}
	}
}

// In production, a Redis that would lose runs ends the start, with the reason and the remedy; elsewhere it is a
// warning.
func TestServeChecksRedis(t *testing.T) {
	t.Parallel()
	user := func(t *testing.T, server *redistest.Server, rules ...any) string {
		t.Helper()
		client := redistest.Client(t, server.Addr)
		require.NoError(t, client.Do(t.Context(), append([]any{"ACL", "SETUSER", "world", "on", ">secret"}, rules...)...).Err())
		return "redis://world:secret@" + server.Addr
	}
	for name, c := range map[string]struct {
		args  []string
		user  []any
		found string
		mends string
	}{
		"eviction":           {[]string{"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"}, nil, "maxmemory-policy allkeys-lru evicts data", "CONFIG SET maxmemory-policy noeviction"},
		"a replica":          {[]string{"--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "yes"}, nil, "the server is a replica", "redis+sentinel://"},
		"no channels":        {nil, []any{"+@all", "~*", "resetchannels"}, "may not use the channel workflow:ready", "&workflow:*"},
		"a command":          {nil, []any{"+@all", "~*", "&*", "-zadd"}, "may not use ZADD", "+zadd"},
		"keys of the queues": {nil, []any{"+@all", "~workflow:*", "&*"}, "keys like asynq:{workflow_flows}:ready", "~asynq:*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, c.args...)
			address := "redis://" + server.Addr
			if c.user != nil {
				address = user(t, server, c.user...)
			}
			_, err := serveOnce(t, "WORKFLOW_REDIS_URL="+address, "WORKFLOW_WORLD_ENV=production")
			require.ErrorContains(t, err, c.found)
			require.ErrorContains(t, err, c.mends)
			require.NotContains(t, err.Error(), "secret")
			if name != "eviction" { // the others cannot serve at all
				return
			}
			for _, environ := range [][]string{{"WORKFLOW_WORLD_ENV=production", "WORKFLOW_WORLD_REDIS_CHECKS=warn"}, {"WORKFLOW_WORLD_ENV=development"}} {
				logged, err := serveOnce(t, append(environ, "WORKFLOW_REDIS_URL="+address)...)
				require.NoError(t, err)
				require.Regexp(t, `level=WARN msg="Redis is not set up.*check=eviction.*`+c.found, logged)
			}
		})
	}
}

// The minimal rights of docs/operations.md suffice: the service works as a user that has exactly these.
func TestTheSmallestRightsAreEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes")
	admin := redistest.Client(t, server.Addr)
	rule := setup.ACLRule([]setup.Prefixes{{Keys: "workflow:", Jobs: "workflow_"}})
	var words []any
	for _, word := range strings.Fields(rule) {
		words = append(words, word)
	}
	require.NoError(t, admin.Do(t.Context(), append(words, "on", ">secret")...).Err())

	app := httptest.NewServer(healthy(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(app.Close)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://world:secret@"+server.Addr, "WORKFLOW_WORLD_ENV=production",
		"WORKFLOW_BASE_URL="+app.URL, "WORKFLOW_WORLD_APP_CONCURRENCY=1", "WORKFLOW_WORLD_STREAM_QUIET=100ms")
	p := newPatient(func() string { return base })
	for n := range 3 {
		_, err := p.live(n)
		require.NoError(t, err)
	}
	runID := newRun(t, base, "")
	for i := range 3 {
		post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":"step_%d"},"idempotencyKey":"k%d"}`, runID, i, i))
	}
	post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_w","message":{"runId":%q},"delaySeconds":1}`, runID))
	post(t, base+"/v1/legacy/runs", `{"workflowName":"w","deploymentId":"d","input":[]}`)
	stream := base + "/v1/runs/" + runID + "/streams/strm_1"
	read := later(t, stream)
	require.Equal(t, http.StatusOK, writeChunk(t, stream, "small"))
	require.Equal(t, http.StatusOK, writeChunk(t, stream, strings.Repeat("x", 300<<10)))
	post(t, stream+"/close", `{}`)
	require.Len(t, <-read, 5+300<<10)
	post(t, base+"/v1/queue/flows/pause", `{}`)
	post(t, base+"/v1/queue/flows/resume", `{}`)
	for _, path := range []string{"/v1/runs", "/v1/runs?status=running", "/v1/queue", "/v1/queue/messages", "/v1/apps", "/readyz", "/metrics"} {
		status, body := get(t, base+path)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	}
	require.NoError(t, stop())
	entries, err := admin.Do(t.Context(), "ACL", "LOG").Slice()
	require.NoError(t, err)
	var refused []any
	for _, entry := range entries {
		refused = append(refused, entry.(map[any]any)["object"])
	}
	require.Empty(t, refused, "what the user had no right to")
}

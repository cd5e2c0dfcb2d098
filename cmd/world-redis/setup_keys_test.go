package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/setup"
)

// notKeys are commands whose arguments are not keys, or are patterns; the keys of scripts are seen individually.
var notKeys = map[string]bool{
	"PUBLISH": true, "SPUBLISH": true, "SUBSCRIBE": true, "UNSUBSCRIBE": true, "SCAN": true, "KEYS": true, "EVAL": true, "EVALSHA": true, "PUBSUB": true,
}

// watchKeys collects every key with a prefix that is in any Redis command, from now on.
func watchKeys(t *testing.T, address string, prefixes ...string) (seen func() []string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(t, err)
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 64<<20)
	require.True(t, lines.Scan())
	require.Equal(t, "+OK", lines.Text())
	var mu sync.Mutex
	keys := map[string]bool{}
	go func() {
		for lines.Scan() {
			words := quoted(lines.Text())
			if len(words) == 0 || notKeys[strings.ToUpper(words[0])] {
				continue
			}
			for _, word := range words[1:] {
				for _, prefix := range prefixes {
					if strings.HasPrefix(word, prefix) {
						mu.Lock()
						keys[word] = true
						mu.Unlock()
					}
				}
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		var out []string
		for key := range keys {
			out = append(out, key)
		}
		return out
	}
}

// quoted returns the quoted texts of a line of MONITOR.
func quoted(line string) []string {
	var out []string
	for {
		at := strings.IndexByte(line, '"')
		if at < 0 {
			return out
		}
		text, err := strconv.QuotedPrefix(line[at:])
		if err != nil {
			return out
		}
		word, err := strconv.Unquote(text)
		if err != nil {
			word = text
		}
		out = append(out, word)
		line = line[at+len(text):]
	}
}

// The setup command knows every key that the service creates, including short-lived ones: of runs of all kinds, hooks,
// streams, waiting messages, apps, recovery.
func TestSetupKnowsEveryKey(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	app := httptest.NewServer(healthy(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/step") {
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	t.Cleanup(app.Close)
	r, environ := redisOf(t)
	jobs := strings.TrimSuffix(r.Prefix, ":") + "_"
	queues := []string{"asynq:{" + jobs + "flows}:", "asynq:{" + jobs + "steps}:"}
	seen := watchKeys(t, r.Addr, append(queues, r.Prefix)...)
	base, _, stop := startService(t, append(environ, "WORKFLOW_WORLD_APP_CONCURRENCY=1", "WORKFLOW_BASE_URL="+app.URL)...)
	p := newPatient(func() string { return base })
	for n := range 3 {
		_, err := p.live(n)
		require.NoError(t, err)
	}
	runID := newRun(t, base, "")
	for i := range 3 { // one is in work, the others wait for room
		post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":"step_%d"},"idempotencyKey":"k%d"}`, runID, i, i))
	}
	post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_w","message":{"runId":%q},"delaySeconds":60}`, runID))
	post(t, base+"/v1/apps", `{"baseUrl":"http://elsewhere","deploymentId":"dpl_2","sdk":"v4"}`)
	post(t, base+"/v1/legacy/runs", `{"workflowName":"w","deploymentId":"d","input":[]}`)
	stream := base + "/v1/runs/" + runID + "/streams/strm_1"
	require.Equal(t, http.StatusOK, writeChunk(t, stream, "small"))
	for range 2 { // these go in a transaction
		require.Equal(t, http.StatusOK, writeChunk(t, stream, string(bytes.Repeat([]byte("x"), 300<<10))))
	}
	post(t, stream+"/close", `{}`)
	kinds := func() map[string]int64 {
		copied := redistest.New(t)
		copiedJobs := strings.TrimSuffix(copied.Prefix, ":") + "_"
		for _, key := range seen() {
			key = strings.NewReplacer(r.Prefix, copied.Prefix, jobs, copiedJobs).Replace(key)
			require.NoError(t, copied.Client.Set(t.Context(), key, "x", 0).Err())
		}
		conn, err := redisconn.Open(t.Context(), "redis://"+copied.Addr)
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		report, err := setup.Run(t.Context(), setup.Options{Conn: conn, Prefix: copied.Prefix, JobPrefix: copiedJobs, Out: &bytes.Buffer{}, JSON: true})
		require.NoError(t, err)
		out := map[string]int64{}
		for _, k := range report.Keys {
			if k.Count > 0 {
				out[k.Kind] = k.Count
			}
		}
		return out
	}
	require.Eventually(t, func() bool { // these are written a little later
		all := strings.Join(seen(), "\n")
		return strings.Contains(all, "}:crowded:") && strings.Contains(all, "lead:{lead}")
	}, time.Minute, 10*time.Millisecond)
	close(release)
	require.NoError(t, stop())
	got := kinds()
	require.Zero(t, got["(other)"], "%v", seen())
	for _, kind := range []string{
		"run", "step", "event", "events:by_correlation", "steps:by_run", "hook", "hooks:by_run", "hooks:by_token", "hooks:index", "hook_left", "hook_resumes",
		"request", "runs:index", "runs:by_name", "runs:by_status", "run_request", "locator", "stream", "stream_meta", "stream_open", "stream_req", "streams:by_run",
		"format", "lead", "apps", "queue", "asynq",
	} {
		require.Positive(t, got[kind], "%s: the test has it not made; all: %v", kind, got)
	}
}

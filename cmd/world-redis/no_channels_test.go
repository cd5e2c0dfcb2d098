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
)

// A Redis user without channels, the default for new users of Redis 7, only costs time: each run is executed once,
// hooks are released, chunks are stored once and reach waiting readers, messages are delivered. The log says what is
// missing.
func TestAUserWithoutChannelsLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := redistest.Client(t, server.Addr)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "world", "on", ">secret", "+@all", "~*", "resetchannels").Err())

	delivered := make(chan string, 100)
	app := httptest.NewServer(healthy(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		delivered <- regexp.MustCompile(`step_\d`).FindString(string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(app.Close)
	c, _, err := loadConfig([]string{
		"WORKFLOW_WORLD_LISTEN=127.0.0.1:0", "WORKFLOW_WORLD_SHUTDOWN_GRACE=2s",
		"WORKFLOW_REDIS_URL=redis://world:secret@" + server.Addr, "WORKFLOW_BASE_URL=" + app.URL,
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended, out, log := make(chan error, 1), &worldtest.Log{}, &worldtest.Log{}
	go func() { ended <- serve(ctx, c, slog.New(slog.NewTextHandler(log, nil)), out) }()
	listens := regexp.MustCompile(`listens on (http://\S+),`)
	require.Eventually(t, func() bool { return out.Find(listens) != nil }, time.Minute, 10*time.Millisecond)
	base := out.Find(listens)[1]

	p := newPatient(func() string { return base })
	for n := range 3 {
		runID, err := p.live(n)
		require.NoError(t, err)
		checkLife(t, base, runID, n)
	}
	// The end of a run with zero retention removes its payloads, too.
	nothing := newRun(t, base, `,"attributes":{"$retention":"0"},"allowReservedAttributes":true`)
	post(t, base+"/v1/runs/"+nothing+"/events", `{"event":{"eventType":"run_started","specVersion":7}}`)
	post(t, base+"/v1/runs/"+nothing+"/events", `{"event":{"eventType":"run_completed","specVersion":7,"eventData":{"output":"secret-output"}}}`)
	status, events := get(t, base+"/v1/runs/"+nothing+"/events")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, events, "run_completed")
	require.NotContains(t, events, "secret-output")

	runID := newRun(t, base, "")
	stream := base + "/v1/runs/" + runID + "/streams/strm_1"
	reader := later(t, stream)
	small, large := strings.Repeat("s", 10), strings.Repeat("x", 300<<10)
	require.Equal(t, http.StatusOK, writeChunk(t, stream, small))
	require.Equal(t, http.StatusOK, writeChunk(t, stream, large))
	post(t, stream+"/close", `{}`)
	require.Equal(t, small+large, <-reader)
	var want []string
	for i := range 5 {
		step := fmt.Sprintf("step_%d", i)
		post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":%q},"idempotencyKey":%q}`, runID, step, step))
		want = append(want, step)
	}
	var got []string
	for range want {
		got = append(got, <-delivered)
	}
	require.ElementsMatch(t, want, got)
	refused := regexp.MustCompile(`level=WARN msg="Redis refuses notifications`)
	require.Eventually(t, func() bool { return log.Find(refused) != nil }, time.Minute, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, delivered)
}

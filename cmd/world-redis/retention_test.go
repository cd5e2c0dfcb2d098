package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// writeChunk writes one chunk and returns the status.
func writeChunk(t *testing.T, url, chunk string) int {
	t.Helper()
	write, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(chunk))
	require.NoError(t, err)
	write.Header.Set("Content-Type", "application/octet-stream")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(write)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// newRun creates a run through the API and returns its id.
func newRun(t *testing.T, base, eventData string) string {
	t.Helper()
	created := post(t, base+"/v1/events", fmt.Sprintf(
		`{"event":{"eventType":"run_created","specVersion":7,"eventData":{"deploymentId":"dpl_1","workflowName":"wf","input":[]%s}}}`, eventData))
	runID, ok := created["run"].(map[string]any)["runId"].(string)
	require.True(t, ok)
	return runID
}

// A run with zero retention ends: its streams end with it, empty, on every kind of Redis, also for active readers.
// Streams of other runs stay.
func TestStreamsOfARunThatKeepsNothingEndWithIt(t *testing.T) {
	t.Parallel()
	environ := map[string]func(t *testing.T) []string{
		"embedded": func(*testing.T) []string { return nil },
		"redis": func(t *testing.T) []string {
			r := redistest.New(t)
			return []string{"WORKFLOW_REDIS_URL=" + r.URL(), "WORKFLOW_REDIS_KEY_PREFIX=" + r.Prefix}
		},
		"cluster": func(t *testing.T) []string {
			r := redistest.NewCluster(t)
			return []string{"WORKFLOW_REDIS_URL=" + r.URL(), "WORKFLOW_REDIS_KEY_PREFIX=" + r.Prefix}
		},
	}
	for name, environ := range environ {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, _, stop := startService(t, environ(t)...)
			keeps := newRun(t, base, "")
			keepsNothing := newRun(t, base, `,"attributes":{"$retention":"0"},"allowReservedAttributes":true`)
			for _, runID := range []string{keeps, keepsNothing} {
				require.Equal(t, http.StatusOK, writeChunk(t, base+"/v1/runs/"+runID+"/streams/strm_"+runID, "hello"))
			}
			reading := later(t, base+"/v1/streams/strm_"+keepsNothing)
			beyond := later(t, base+"/v1/streams/strm_"+keepsNothing+"?startIndex=1")
			for _, runID := range []string{keeps, keepsNothing} {
				post(t, base+"/v1/runs/"+runID+"/events", `{"event":{"eventType":"run_cancelled"}}`)
			}
			require.Contains(t, []string{"", "hello"}, <-reading)
			require.Empty(t, <-beyond)

			_, info := get(t, base+"/v1/streams/strm_"+keepsNothing+"/info")
			require.JSONEq(t, `{"tailIndex":-1,"done":true}`, info)
			status, body := get(t, base+"/v1/streams/strm_"+keepsNothing)
			require.Equal(t, []any{http.StatusOK, ""}, []any{status, body})
			_, list := get(t, base+"/v1/runs/"+keepsNothing+"/streams")
			require.JSONEq(t, `{"data":["strm_`+keepsNothing+`"]}`, list)
			require.Equal(t, http.StatusConflict, writeChunk(t, base+"/v1/runs/"+keepsNothing+"/streams/strm_late", "late"))
			_, info = get(t, base+"/v1/streams/strm_"+keeps+"/info")
			require.Contains(t, info, `"tailIndex":0`, "its chunk; the stream itself ends a second or more after its run")
			require.NoError(t, stop())
		})
	}
}

// The operator sets how long a hook may outlive its run.
func TestHookRetentionIsASetting(t *testing.T) {
	t.Parallel()
	base, _, stop := startService(t, "WORKFLOW_WORLD_HOOK_RETENTION=90m")
	runID := newRun(t, base, "")
	create := func(keep time.Duration) (int, string) {
		return send(t, base+"/v1/runs/"+runID+"/events", fmt.Sprintf(
			`{"event":{"eventType":"hook_created","correlationId":"hook_1","specVersion":7,"eventData":{"token":"t","tokenRetentionUntil":%d}}}`,
			time.Now().Add(keep).UnixMilli()))
	}
	status, body := create(2 * time.Hour)
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "cannot exceed 1h30m0s")
	status, body = create(time.Hour)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, stop())
}

package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// send sends JSON and returns the answer.
func send(t *testing.T, url, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(answer)
}

// post is send for an answer that must be 200.
func post(t *testing.T, url, body string) map[string]any {
	t.Helper()
	status, text := send(t, url, body)
	require.Equal(t, http.StatusOK, status, text)
	var answer map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	return answer
}

// later gets a page in the background and sends its content.
func later(t *testing.T, url string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	body := make(chan string, 1)
	go func() {
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			body <- err.Error()
			return
		}
		text, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			text = []byte(err.Error())
		}
		body <- string(text)
	}()
	return body
}

// Two replicas on one Redis Cluster: a write at one wakes the callers that wait at the other.
func TestTwoReplicasOnACluster(t *testing.T) {
	t.Parallel()
	r := redistest.NewCluster(t)
	environ := []string{
		"WORKFLOW_REDIS_URL=" + r.URL(), "WORKFLOW_REDIS_KEY_PREFIX=" + r.Prefix,
		"WORKFLOW_REDIS_JOB_PREFIX=" + strings.TrimSuffix(r.Prefix, ":") + "_",
	}
	one, _, stopOne := startService(t, environ...)
	two, _, stopTwo := startService(t, environ...)

	delivered := make(chan string, 1)
	app := httptest.NewServer(healthy(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		delivered <- req.URL.Path + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	defer app.Close()
	post(t, one+"/v1/apps", `{"baseUrl":"`+app.URL+`","deploymentId":"dpl_1","sdk":"v5"}`)
	post(t, two+"/v1/queue", `{"queueName":"__wkf_workflow_wf","jsonMessage":"{\"runId\":\"wrun_1\"}"}`)
	require.Equal(t, `/.well-known/workflow/v1/flow {"runId":"wrun_1"}`, <-delivered)

	runID := newRun(t, one, "")
	awaited := later(t, two+"/v1/runs/"+runID+"/wait?timeoutMs=60000")
	read := later(t, two+"/v1/streams/strm_1")
	post(t, one+"/v1/runs/"+runID+"/events", `{"event":{"eventType":"hook_created","correlationId":"hook_1","eventData":{"token":"tok"}}}`)
	status, hook := get(t, two+"/v1/hooks/by-token?token=tok")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, hook, runID)
	post(t, one+"/v1/runs/"+runID+"/events", `{"event":{"eventType":"run_cancelled"}}`)
	require.Contains(t, <-awaited, `"status":"cancelled"`)
	status, _ = get(t, two+"/v1/hooks/by-token?token=tok")
	require.Equal(t, http.StatusNotFound, status)

	require.Equal(t, http.StatusOK, writeChunk(t, one+"/v1/runs/"+runID+"/streams/strm_1", "hello"))
	post(t, one+"/v1/runs/"+runID+"/streams/strm_1/close", `{}`)
	require.Equal(t, "hello", <-read)
	require.NoError(t, stopOne())
	require.NoError(t, stopTwo())
}

// When a cluster has lost a master and its replica, the other nodes still answer PING.
func TestReadyIsFalseWhileSlotsAreLost(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t, "--cluster-node-timeout", "1000")
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL="+c.URL(), "WORKFLOW_WORLD_NAMESPACES=other=a-token-of-other")
	ready := func() int { status, _ := get(t, base+"/readyz"); return status }
	require.Equal(t, http.StatusOK, ready())
	require.NoError(t, c.Replicas[0].Kill())
	require.NoError(t, c.Masters[0].Kill())
	require.Eventually(t, func() bool { return ready() == http.StatusServiceUnavailable }, time.Minute, 50*time.Millisecond)
	status, _ := get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, c.Masters[0].Restart())
	require.Eventually(t, func() bool { return ready() == http.StatusOK }, time.Minute, 50*time.Millisecond)
	require.NoError(t, stop())
}

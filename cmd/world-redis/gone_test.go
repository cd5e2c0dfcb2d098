package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// lateCall is a call on a run that has gone. Its path and body may name the run as RUN.
type lateCall struct {
	method, path, body string
	status             int
	name               string // of the error
	holds              string // part of the answer
}

const (
	noRun  = "WorkflowRunNotFoundError"
	taken  = "EntityConflictError"
	noHook = "HookNotFoundError"
)

// lateCalls are those of SDK v4 (spec 3) and v5 (spec 7).
func lateCalls(spec int) []lateCall {
	event := func(kind, id, data string, status int, name string) lateCall {
		body := fmt.Sprintf(`{"event":{"eventType":%q,"correlationId":%q,"specVersion":%d,"eventData":%s}}`, kind, id, spec, data)
		return lateCall{http.MethodPost, "/v1/runs/RUN/events", strings.Replace(body, `"correlationId":"",`, "", 1), status, name, ""}
	}
	const input = `{"deploymentId":"d","workflowName":"wf","input":"x"}`
	calls := []lateCall{
		event("run_created", "", input, http.StatusConflict, taken),
		event("run_started", "", input, http.StatusNotFound, noRun),
		event("run_started", "", `{}`, http.StatusNotFound, noRun),
		event("run_completed", "", `{"output":"x"}`, http.StatusNotFound, noRun),
		event("run_failed", "", `{"error":{"message":"no"}}`, http.StatusNotFound, noRun),
		event("run_cancelled", "", `{}`, http.StatusNotFound, noRun),
		event("step_created", "step_1", `{"stepName":"s","input":"x"}`, http.StatusNotFound, noRun),
		event("step_started", "step_1", `{"stepName":"s"}`, http.StatusNotFound, ""),
		event("step_retrying", "step_1", `{"stepName":"s","error":"x"}`, http.StatusNotFound, ""),
		event("step_completed", "step_1", `{"stepName":"s","result":"x"}`, http.StatusNotFound, ""),
		event("step_failed", "step_1", `{"stepName":"s","error":"x"}`, http.StatusNotFound, ""),
		event("hook_created", "hook_1", `{"token":"t"}`, http.StatusNotFound, noRun),
		event("hook_received", "hook_1", `{"payload":"x"}`, http.StatusNotFound, ""),
		event("hook_disposed", "hook_1", `{}`, http.StatusNotFound, ""),
		event("wait_created", "wait_1", `{"resumeAt":"2030-01-01T00:00:00Z"}`, http.StatusNotFound, noRun),
		event("wait_completed", "wait_1", `{}`, http.StatusNotFound, ""),
		{http.MethodGet, "/v1/runs/RUN", "", http.StatusNotFound, noRun, ""},
		{http.MethodGet, "/v1/runs/RUN/wait", "", http.StatusNotFound, noRun, ""},
		{http.MethodGet, "/v1/runs/RUN/events", "", http.StatusOK, "", ""},
		{http.MethodGet, "/v1/runs/RUN/steps", "", http.StatusOK, "", ""},
		{http.MethodGet, "/v1/runs/RUN/steps/step_1", "", http.StatusNotFound, "", ""},
		{http.MethodGet, "/v1/hooks/hook_1", "", http.StatusNotFound, noHook, ""},
		{http.MethodPost, "/v1/legacy/runs/RUN/cancel", `{}`, http.StatusNotFound, noRun, ""},
		{http.MethodPost, "/v1/legacy/runs/RUN/events", `{"eventType":"wait_completed","correlationId":"w"}`, http.StatusNotFound, noRun, ""},
	}
	if spec >= 7 {
		calls = append(calls, lateCall{
			http.MethodPost, "/v1/runs/RUN/events/batch",
			`{"events":[{"event":{"eventType":"step_created","correlationId":"step_2","specVersion":7,"eventData":{"stepName":"s","input":"x"}}}]}`,
			http.StatusOK, "", `"results":[{"status":404,"error":"run_not_found"`,
		})
	}
	return calls
}

// Every late call on a run that has been removed is answered as for a run that does not exist, as long as its mark is there, after
// that, and when the run is too old to be known; and none leaves a key that names the run.
func TestLateCallsOnARunThatHasGone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	client := redistest.Client(t, s.Addr)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr)
	for _, spec := range []int{3, 7} {
		for when, age := range map[string]time.Duration{"mark": 2 * time.Hour, "bucket": 3 * time.Hour, "old": 31 * 24 * time.Hour} {
			runID := "wrun_" + ulid.MustNew(ulid.Timestamp(time.Now().Add(-age)), strings.NewReader(fmt.Sprintf("%010d", spec))).String()
			if when != "old" {
				runIsRemoved(t, base, runID, spec)
			}
			if when == "bucket" {
				require.EqualValues(t, 1, client.Del(t.Context(), "workflow:run_removed:{"+runID+"}").Val())
			}
			for _, c := range lateCalls(spec) {
				if when == "old" && c.status == http.StatusConflict {
					c.status, c.name = http.StatusBadRequest, "WorkflowWorldError" // run_created refuses ids of more than a day
				}
				c.check(t, base, runID, fmt.Sprintf("spec %d, %s", spec, when))
			}
			require.Eventually(t, func() bool { return !named(t, client, runID) }, time.Minute, 10*time.Millisecond)
		}
	}
	require.NoError(t, stop())
}

// runIsRemoved creates a run, ends and removes it.
func runIsRemoved(t *testing.T, base, runID string, spec int) {
	t.Helper()
	for _, event := range []string{
		`"eventType":"run_created","eventData":{"deploymentId":"d","workflowName":"wf","input":"x"}`, `"eventType":"run_cancelled"`,
	} {
		callAs(t, base, "", "/v1/runs/"+runID+"/events", fmt.Sprintf(`{"event":{%s,"specVersion":%d}}`, event, spec))
	}
	out, err := ask(t, "runs", "--url", base, "delete", "--yes", runID)
	require.NoError(t, err)
	require.Equal(t, runID+" is removed\n", out)
}

func (c lateCall) check(t *testing.T, base, runID, when string) {
	t.Helper()
	about := when + ": " + c.method + " " + c.path + " " + c.body
	req, err := http.NewRequestWithContext(t.Context(), c.method, base+strings.ReplaceAll(c.path, "RUN", runID), strings.NewReader(c.body))
	require.NoError(t, err)
	if c.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, c.status, res.StatusCode, "%s: %s", about, text)
	var answer struct{ Error struct{ Name string } }
	require.NoError(t, json.Unmarshal(text, &answer))
	require.Contains(t, string(text), c.holds, about)
	if c.name != "" {
		require.Equal(t, c.name, answer.Error.Name, about)
	}
}

// named reports whether a list of runs names the run.
func named(t *testing.T, client *redis.Client, runID string) bool {
	t.Helper()
	for _, key := range client.Keys(t.Context(), "workflow:*").Val() {
		if key == "workflow:run:{"+runID+"}" || key == "workflow:event:{"+runID+"}" {
			return true
		}
		if strings.HasPrefix(key, "workflow:runs:by_name") && client.ZScore(t.Context(), key, runID).Err() == nil {
			return true
		}
	}
	return false
}

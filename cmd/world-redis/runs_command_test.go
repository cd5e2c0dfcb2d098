package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// An operator wakes a run: one message waits for its app, however often the run is woken. For a run that has ended,
// that does not exist, or that is of another namespace, the command fails with one sentence.
func TestOperatorWakesARun(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one", "WORKFLOW_WORLD_NAMESPACES=shop=two")
	runs := func(args ...string) (string, error) {
		return ask(t, append([]string{"runs", "--url", base, "--token", "one"}, args...)...)
	}
	runID := newWorkflowRun(t, base, "one", "d")
	const end = `{"event":{"eventType":"run_failed","specVersion":2,"eventData":{"error":{"message":"no"}}}}`

	_, err := ask(t, "queue", "--url", base, "--token", "one", "pause", "flows")
	require.NoError(t, err)
	out, err := runs("wake", runID)
	require.NoError(t, err)
	require.Regexp(t, `^run `+runID+` \(wf, pending\) is woken by message msg_\w+, which is pending\n$`, out)
	ids := redistest.Client(t, s.Addr).SMembers(t.Context(), "workflow:queue:{workflow_flows}:of:"+runID)
	require.Len(t, ids.Val(), 1)
	var again wakeAnswer
	out, err = runs("wake", "--json", runID)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &again))
	require.Equal(t, wakeAnswer{RunID: runID, MessageID: ids.Val()[0], Status: "pending", WorkflowName: "wf", DeploymentID: "d"}, again)

	_, err = ask(t, "runs", "--url", base, "--token", "two", "wake", runID)
	require.EqualError(t, err, "no such run: "+runID)
	callAs(t, base, "one", "/v1/runs/"+runID+"/events", end)
	_, err = runs("wake", runID)
	require.EqualError(t, err, "Run "+runID+" has ended (failed): a wake-up would change nothing")
	require.Equal(t, 1, exitCode(err))
	require.NoError(t, stop())
}

// newWorkflowRun creates a run of workflow wf.
func newWorkflowRun(t *testing.T, base, token, deployment string) string {
	t.Helper()
	answer := callAs(t, base, token, "/v1/events",
		`{"event":{"eventType":"run_created","specVersion":2,"eventData":{"deploymentId":"`+deployment+`","workflowName":"wf","input":[]}}}`)
	var made struct{ Run struct{ RunID string } }
	require.NoError(t, json.Unmarshal([]byte(answer), &made))
	require.NotEmpty(t, made.Run.RunID, answer)
	return made.Run.RunID
}

// callAs posts JSON with a token.
func callAs(t *testing.T, base, token, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(answer))
	return string(answer)
}

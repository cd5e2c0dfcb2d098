package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ask runs a command against a service and returns its output.
func ask(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func postJSON(t *testing.T, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(answer))
	return string(answer)
}

// An operator finds out why a run makes no progress, pauses a queue, and resumes it.
func TestOperatorLooksAtTheQueue(t *testing.T) {
	t.Parallel()
	base, _, stop := startService(t)
	queue := func(args ...string) string {
		out, err := ask(t, append([]string{"queue", "--url", base}, args...)...)
		require.NoError(t, err, args)
		return out
	}
	require.Contains(t, queue("ls"), "no messages")
	require.Contains(t, queue("pause", "flows"), "flows: paused")
	var sent struct{ MessageID string }
	answer := postJSON(t, base+"/v1/queue", `{"queueName":"__wkf_workflow_x","message":{"runId":"wrun_1","n":1},"deploymentId":"dpl_7"}`)
	require.NoError(t, json.Unmarshal([]byte(answer), &sent))
	out := queue("ls")
	require.Regexp(t, `flows +1 .* PAUSED`, out)
	require.Regexp(t, sent.MessageID+` +flows +pending +wrun_1`, out)
	require.Contains(t, queue("resume", "flows"), "flows: resumed")
	require.Eventually(t, func() bool {
		out, err := ask(t, "queue", "--url", base, "ls", "--run", "wrun_1")
		return err == nil && strings.Contains(out, `stalled`) && strings.Contains(out, `no app of deployment "dpl_7" has registered`)
	}, time.Minute, 10*time.Millisecond)
	shown := queue("show", sent.MessageID)
	require.Regexp(t, `waits for +dpl_7\n`, shown)
	var one struct{ State, WaitsFor string }
	require.NoError(t, json.Unmarshal([]byte(queue("show", "--json", sent.MessageID)), &one))
	require.Equal(t, "stalled", one.State)
	require.Contains(t, queue("ls", "--state", "dead"), "no messages")
	require.Contains(t, queue("redrive", "--all"), "no dead messages")

	dropQueued(t, base)

	_, err := ask(t, "queue", "--url", base, "redrive", sent.MessageID)
	require.ErrorContains(t, err, "was not changed")
	require.Equal(t, 1, exitCode(err))
	for want, args := range map[string][]string{
		"is not in the queue": {"show", "msg_gone"}, "name what to redrive": {"redrive"}, "exactly one of": {"redrive", "--all", "--run", "wrun_1"},
		"invalid argument": {"pause", "mail"}, "state must be one of": {"ls", "--state", "lost"}, "is not http(s)": {"--url", "localhost", "ls"},
	} {
		_, err := ask(t, append([]string{"queue", "--url", base}, args...)...)
		require.ErrorContains(t, err, want, args)
		require.Equal(t, 1, exitCode(err))
	}
	require.NoError(t, stop())
	_, err = ask(t, "queue", "--url", base, "ls")
	require.ErrorContains(t, err, "no world-redis answers at "+base)
	require.Equal(t, 2, exitCode(err))
}

// dropQueued drops a message of a run that has two.
func dropQueued(t *testing.T, base string) {
	t.Helper()
	var sent, other struct{ MessageID string }
	for _, one := range []*struct{ MessageID string }{&sent, &other} {
		answer := postJSON(t, base+"/v1/queue", `{"queueName":"__wkf_step_x","message":{"workflowRunId":"wrun_2","stepId":"s"},"delaySeconds":3600}`)
		require.NoError(t, json.Unmarshal([]byte(answer), one))
	}
	drop := func(typed, id string, args ...string) (string, error) {
		root := rootCommand()
		var out bytes.Buffer
		root.SetIn(strings.NewReader(typed))
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append([]string{"queue", "--url", base, "drop", id}, args...))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	out, err := drop("no\n", sent.MessageID)
	require.EqualError(t, err, "nothing was removed")
	require.Regexp(t, `run +wrun_2\n`, out)
	out, err = drop("yes\n", sent.MessageID)
	require.NoError(t, err)
	require.Contains(t, out, sent.MessageID+" is removed; it was scheduled\nrun wrun_2 has 1 more")
	out, err = drop("", other.MessageID, "--yes", "--json")
	require.NoError(t, err)
	require.JSONEq(t, `{"messageId":"`+other.MessageID+`","outcome":"dropped","state":"scheduled","runId":"wrun_2","left":0}`, out)
	_, err = drop("", other.MessageID, "--yes")
	require.ErrorContains(t, err, "is not in the queue")
	require.Equal(t, 1, exitCode(err))
}

func TestOperatorNeedsTheToken(t *testing.T) {
	t.Parallel()
	base, _, stop := startService(t, "WORKFLOW_WORLD_TOKEN=secret")
	_, err := ask(t, "queue", "--url", base, "--token", "wrong", "ls")
	require.ErrorContains(t, err, "--token")
	_, err = ask(t, "queue", "--url", base, "--token", "secret", "ls")
	require.NoError(t, err)
	require.NoError(t, stop())
}

// The queue's metrics count by kind and never by run.
func TestDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	first := true
	app := httptest.NewServer(healthy(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if first {
			first = false
			_, _ = io.WriteString(w, `{"timeoutSeconds":0}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	defer app.Close()
	base, _, stop := startService(t, "WORKFLOW_BASE_URL="+app.URL)
	postJSON(t, base+"/v1/queue", `{"queueName":"__wkf_step_x","message":{"workflowRunId":"wrun_1","stepId":"step_1"}}`)
	var body string
	require.Eventually(t, func() bool {
		_, body = get(t, base+"/metrics")
		return strings.Contains(body, `world_redis_queue_outcomes_total{kind="step",outcome="done"} 1`)
	}, time.Minute, 10*time.Millisecond)
	for _, line := range []string{
		`world_redis_queue_outcomes_total{kind="step",outcome="moved"} 1`, `world_redis_queue_redeliveries_total{cause="moved",kind="step"} 1`,
		`world_redis_queue_wait_seconds_count{kind="step"} 2`, `world_redis_queue_delivery_seconds_count{kind="step"} 2`,
		`world_redis_queue_dead_total{kind="step"} 0`, `world_redis_queue_recovered_total{kind="flow"} 0`,
		`world_redis_queue_oldest_pending_seconds{queue="workflow_steps"} 0`, `world_redis_queue_paused{queue="workflow_steps"} 0`,
	} {
		require.Contains(t, body, line)
	}
	require.NotContains(t, body, "wrun_1")
	require.NoError(t, stop())
}

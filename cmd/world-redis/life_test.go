package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// event is one step of a life.
type event struct{ kind, id, data, more string }

func (e event) body() string {
	text := fmt.Sprintf(`{"event":{"eventType":%q,"specVersion":7`, e.kind)
	if e.id != "" {
		text += fmt.Sprintf(`,"correlationId":%q`, e.id)
	}
	if e.data != "" {
		text += `,"eventData":` + e.data
	}
	return text + e.more + `}}`
}

// life is the events of a run: one of every type. n makes its token and its end unique.
func life(n int) []event {
	end := []event{
		{kind: "run_completed", data: `{"output":"out"}`}, {kind: "run_failed", data: `{"error":"boom"}`}, {kind: "run_cancelled"},
	}[n%3]
	token := fmt.Sprintf(`{"token":"token %d"}`, n)
	return []event{
		{kind: "run_created", data: `{"deploymentId":"dpl_1","workflowName":"wf","input":"in"}`},
		{kind: "run_started"},
		{kind: "attr_set", id: "attr_1", data: `{"changes":[{"key":"a","value":"1"}],"writer":{"type":"workflow"}}`},
		{kind: "step_created", id: "step_1", data: `{"stepName":"add","input":"1"}`},
		{kind: "step_started", id: "step_1", data: `{"stepName":"add"}`},
		{kind: "step_retrying", id: "step_1", data: `{"stepName":"add","error":"again"}`},
		{kind: "step_started", id: "step_1", data: `{"stepName":"add"}`},
		{kind: "step_completed", id: "step_1", data: `{"stepName":"add","result":"2"}`},
		{kind: "step_started", id: "step_2", data: `{"stepName":"add","input":"1"}`}, // makes the step, too
		{kind: "step_failed", id: "step_2", data: `{"stepName":"add","error":"bad"}`},
		{kind: "wait_created", id: "wait_1", data: `{"resumeAt":1}`},
		{kind: "wait_completed", id: "wait_1", data: `{"resumeAt":1}`},
		{kind: "hook_created", id: "hook_1", data: token},
		{kind: "hook_received", id: "hook_1", data: `{"payload":"hi"}`, more: `,"resumeId":"resume_1"`},
		{kind: "hook_received", id: "hook_1", data: `{"payload":"hi"}`},
		{kind: "hook_disposed", id: "hook_1"},
		{kind: "hook_created", id: "hook_2", data: token}, // goes with the run
		end,
	}
}

// patient is a client that repeats each call until it is answered, always with the same request id.
type patient struct {
	client http.Client
	base   func() string
	until  time.Time
}

func newPatient(base func() string) *patient {
	return &patient{
		client: http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second},
		base:   base, until: time.Now().Add(15 * time.Minute),
	}
}

func (p *patient) send(path, requestID, body string) (map[string]any, error) {
	var last error
	for time.Now().Before(p.until) {
		status, text, err := p.once(path, requestID, body)
		if err == nil && status == http.StatusOK {
			var answer map[string]any
			return answer, json.Unmarshal([]byte(text), &answer)
		}
		last = fmt.Errorf("%s: %d %s %w", path, status, text, err)
		if err == nil && status != http.StatusServiceUnavailable {
			return nil, last
		}
		<-time.After(2 * time.Millisecond) // what a client does before it tries again
	}
	return nil, last
}

func (p *patient) once(path, requestID, body string) (int, string, error) {
	req, err := http.NewRequest(http.MethodPost, p.base()+path, strings.NewReader(body)) //nolint:noctx // the client has a time limit
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", requestID)
	res, err := p.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close() //nolint:errcheck // read below
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// live makes all calls of a life and returns the run's id.
func (p *patient) live(n int) (runID string, err error) {
	path := "/v1/events"
	for i, e := range life(n) {
		answer, err := p.send(path, fmt.Sprintf("life %d call %d", n, i), e.body())
		if err != nil {
			return runID, err
		}
		if runID == "" {
			runID = answer["run"].(map[string]any)["runId"].(string) //nolint:forcetypeassert // a test
			path = "/v1/runs/" + runID + "/events"
		}
		if attempt := map[int]float64{4: 1, 6: 2}[i]; attempt != 0 && answer["step"].(map[string]any)["attempt"] != attempt {
			return runID, fmt.Errorf("%s: %v", e.kind, answer)
		}
	}
	return runID, nil
}

// checkLife asserts that each event of a run's life was applied exactly once: I1 to I4 of docs/faults.md.
func checkLife(t *testing.T, base, runID string, n int) {
	t.Helper()
	type answer struct {
		Data   []map[string]any
		Status string
	}
	read := func(path string) answer {
		var out answer
		status, text := get(t, base+path)
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return out
	}
	var want, got []string
	for _, e := range life(n) {
		if e.id == "step_2" && e.kind == "step_started" {
			want = append(want, "step_created step_2")
		}
		want = append(want, strings.TrimSpace(e.kind+" "+e.id))
	}
	last := ""
	for _, e := range read("/v1/runs/" + runID + "/events").Data {
		id, _ := e["correlationId"].(string)
		got = append(got, strings.TrimSpace(fmt.Sprint(e["eventType"], " ", id)))
		require.Greater(t, e["eventId"], last)
		last = e["eventId"].(string) //nolint:forcetypeassert // a test
	}
	require.Equal(t, want, got, runID)
	status := strings.TrimPrefix(life(n)[len(life(n))-1].kind, "run_")
	require.Equal(t, status, read("/v1/runs/"+runID).Status)
	steps := map[any][2]any{}
	for _, s := range read("/v1/runs/" + runID + "/steps").Data {
		steps[s["stepId"]] = [2]any{s["status"], s["attempt"]}
	}
	require.Equal(t, map[any][2]any{"step_1": {"completed", 2.0}, "step_2": {"failed", 1.0}}, steps)
	require.Empty(t, read("/v1/hooks?runId="+runID).Data)
	code, text := get(t, base+fmt.Sprintf("/v1/hooks/by-token?token=token+%d", n))
	require.Equal(t, http.StatusNotFound, code, text)
	for _, other := range []string{"pending", "running", "completed", "failed", "cancelled"} {
		listed := false
		for _, run := range read("/v1/runs?limit=1000&status=" + other).Data {
			listed = listed || run["runId"] == runID
		}
		require.Equal(t, other == status, listed, "%s in the list %s", runID, other)
	}
}

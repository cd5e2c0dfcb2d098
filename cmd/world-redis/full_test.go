package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// listed is what a list shows of an event, without its data.
type listed [2]string

// pages reads the whole log of a run, in pages of a thousand events, none of them above 8 MiB.
func (w *wide) pages(runID string) (log []listed) {
	w.t.Helper()
	const most = 8<<20 + 4096*8 // and what is around the payloads
	cursor := ""
	for {
		var page struct {
			Data    []eventRow `cbor:"data"`
			Cursor  string     `cbor:"cursor"`
			HasMore bool       `cbor:"hasMore"`
		}
		size := w.read("/v1/runs/"+runID+"/events?limit=1000&cursor="+cursor, &page)
		require.LessOrEqual(w.t, size, most)
		require.NotEmpty(w.t, page.Data)
		for _, e := range page.Data {
			log = append(log, listed{e.EventType, e.CorrelationID})
		}
		if !page.HasMore {
			return log
		}
		cursor = page.Cursor
	}
}

// folded asserts that a run has this status, log and hooks, and the steps that the log implies (I3).
func (w *wide) folded(runID, status string, want []listed, hooks ...string) {
	w.t.Helper()
	require.Equal(w.t, want, w.pages(runID))
	var run struct {
		Status string `cbor:"status"`
	}
	w.read("/v1/runs/"+runID+"?resolveData=none", &run)
	require.Equal(w.t, status, run.Status)
	var live struct {
		Data []struct {
			HookID string `cbor:"hookId"`
		} `cbor:"data"`
	}
	w.read("/v1/hooks?resolveData=none&runId="+runID, &live)
	require.Len(w.t, live.Data, len(hooks))
	for i, hook := range live.Data {
		require.Equal(w.t, hooks[i], hook.HookID)
	}
	statuses := map[string]string{}
	for _, e := range want {
		switch e[0] {
		case "step_created":
			statuses[e[1]] = "pending"
		case "step_completed":
			statuses[e[1]] = "completed"
		}
	}
	var steps struct {
		Data []struct {
			StepID string `cbor:"stepId"`
			Status string `cbor:"status"`
		} `cbor:"data"`
	}
	w.read("/v1/runs/"+runID+"/steps?limit=1000&resolveData=none", &steps)
	got := map[string]string{}
	for _, s := range steps.Data {
		got[s.StepID] = s.Status
	}
	require.Equal(w.t, statuses, got)
}

// BR-37: 500 events of 1 MB do not fit into a Redis of 256 MB that does not evict. A call that does not fit is refused,
// with a sentence that says why and to try again; nothing of it is stored, the earlier data can be read, and once there
// is room the same calls succeed.
func TestBR37RedisIsFull(t *testing.T) {
	t.Parallel()
	megabyte, memory := int64(390_000), "100mb" // a megabyte is smaller here, and so is the Redis, unless it is to take long
	if *chaosLong {
		megabyte, memory = 1_000_000, "256mb"
	}
	server := redistest.Start(t, "--maxmemory", memory, "--maxmemory-policy", "noeviction")
	client := redistest.Client(t, server.Addr)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr)
	w := &wide{t: t, base: base}
	others := []string{} // keys that are not ours
	grow := func(size int64) error {
		others = append(others, fmt.Sprintf("somebody else's %d", len(others)))
		return client.SetRange(t.Context(), others[len(others)-1], size, "x").Err()
	}
	require.NoError(t, grow(40*megabyte))

	payload := patterned(int(megabyte))
	runID, late := w.newRun([]byte{1}), w.newRun([]byte{1})
	log, lateLog := []listed{{"run_created", ""}}, []listed{{"run_created", ""}}
	for _, e := range []listed{{"run_started", ""}, {"hook_created", "hook_1"}, {"step_created", "step_1"}} {
		w.accepted(runID, e[0], e[1], m{"token": "one", "stepName": "s", "input": []byte{1}})
		log = append(log, e)
	}
	refused := map[string]bool{}
	try := func(runID, request, kind, id string, data m) bool {
		t.Helper()
		status, answer := w.event(runID, request, kind, id, data)
		if status == http.StatusOK {
			return true
		}
		require.Equal(t, []any{http.StatusServiceUnavailable, "unavailable", "WorkflowWorldError", "Redis is out of memory; try again"},
			[]any{status, answer["code"], answer["name"], answer["message"]}, kind)
		refused[kind] = true
		return false
	}
	const all = 500
	first := all // that was refused
	send := func(n int) {
		t.Helper()
		kind, id, data := "step_created", fmt.Sprintf("step_%d_created", n), m{"stepName": "s", "input": payload}
		if n%2 == 1 {
			kind, id, data = "hook_received", "hook_1", m{"payload": payload}
		}
		if try(runID, fmt.Sprint("call ", n), kind, id, data) {
			log = append(log, listed{kind, id})
		} else {
			first = min(first, n)
		}
	}
	for n := range all {
		send(n)
	}
	require.Greater(t, first, 180, "events that fit")
	require.Less(t, len(log), 256)
	var err error
	for err == nil {
		err = grow(4 * megabyte)
	}
	require.ErrorContains(t, err, "OOM")
	// Memory in use changes with traffic, so from here on it is far too full.
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "50mb").Err())
	never := "wrun_" + ulid.Make().String()
	for _, e := range []struct{ runID, kind, id, field string }{
		{never, "run_created", "", "input"},
		{late, "hook_created", "hook_2", "metadata"},
		{late, "step_created", "step_2", "input"},
		{runID, "step_completed", "step_1", "result"},
		{runID, "step_failed", "step_1", "error"},
		{runID, "run_completed", "", "output"},
		{runID, "run_failed", "", "error"},
	} {
		require.False(t, try(e.runID, "", e.kind, e.id, m{e.field: payload, "token": "two", "stepName": "s", "deploymentId": "d", "workflowName": "w"}))
	}
	require.Len(t, refused, 8, refused)
	status, answer := w.do(http.MethodPost, "/v1/runs/"+runID+"/streams/strm_1", "", payload, "application/octet-stream")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, string(answer), "Redis is out of memory")

	// Nothing of the refused calls is stored, and the rest can be read.
	w.folded(runID, "running", log, "hook_1")
	w.folded(late, "pending", lateLog)
	status, _ = w.do(http.MethodGet, "/v1/runs/"+never, "", nil, "")
	require.Equal(t, http.StatusNotFound, status)
	status, ready := get(t, base+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, ready, `"message":"Redis is out of memory"`)
	status, _ = get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status)

	// There is room again.
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", memory).Err())
	require.NoError(t, client.Del(t.Context(), others...).Err())
	send(first)
	send(first) // the same call: it stands once
	log = log[:len(log)-1]
	require.True(t, try(runID, "", "step_completed", "step_1", m{"result": payload}))
	require.True(t, try(runID, "", "run_completed", "", m{"output": payload}))
	log = append(log, listed{"step_completed", "step_1"}, listed{"run_completed", ""})
	w.folded(runID, "completed", log)
	require.True(t, try(late, "", "hook_created", "hook_2", m{"token": "two", "metadata": payload}))
	w.folded(late, "pending", append(lateLog, listed{"hook_created", "hook_2"}), "hook_2")
	require.NoError(t, stop())
}

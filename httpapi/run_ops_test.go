package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/wire"
)

const plainRun = `{"runId":"r1","status":"running","deploymentId":"","workflowName":"w","createdAt":1,"updatedAt":2}`

func TestGetRuns(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getRuns = func(runIDs []string, none bool) ([]*world.Run, error) {
		require.Equal(t, []string{"r0", "r1"}, runIDs)
		require.True(t, none)
		return []*world.Run{nil, {RunID: "r1", Status: world.RunRunning, WorkflowName: "w", CreatedAt: 1, UpdatedAt: 2}}, nil
	}
	s := newServer(t, f)
	status, body := post(t, s, "/v1/runs/get", m{"runIds": []string{"r0", "r1"}, "resolveData": "none"})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, m{"data": []any{nil, decoded(t, mustCBOR(t, plainRun))}}, decoded(t, []byte(body)))
	status, body = post(t, s, "/v1/runs/get", `{"runIds":["r0","r1"],"resolveData":"none"}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{"data":[null,`+plainRun+`]}`, body)
	// A run for which there is no room is left out for a caller that can continue, and refused to one that cannot.
	f.store.getRuns = func(runIDs []string, _ bool) ([]*world.Run, error) {
		return make([]*world.Run, min(2, len(runIDs))), nil
	}
	for given, want := range map[string]string{
		`{"runIds":["a","b","c"],"partial":true}`: `{"data":[null,null],"hasMore":true}`,
		`{"runIds":["a","b"],"partial":true}`:     `{"data":[null,null],"hasMore":false}`,
		`{"runIds":["a","b"]}`:                    `{"data":[null,null]}`,
	} {
		status, body = post(t, s, "/v1/runs/get", given)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, want, body)
	}
	status, body = post(t, s, "/v1/runs/get", `{"runIds":["a","b","c"]}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Equal(t, "too_large", errorOf(t, body)["code"])
	for given, want := range map[string]string{
		`{}`:                                   "body.runIds is missing",
		`{"runIds":"r"}`:                       "body.runIds must be a list",
		`{"runIds":["r",5]}`:                   "body.runIds has an entry that must be an id",
		`{"runIds":["a/b"]}`:                   "body.runIds has an entry that must be an id",
		`{"runIds":["r"],"resolveData":"x"}`:   "resolveData must be all or none",
		`{"runIds":[` + manyTexts(1001) + `]}`: "body.runIds has more entries than the limit of 1000",
	} {
		status, body := post(t, s, "/v1/runs/get", given)
		require.Equal(t, http.StatusBadRequest, status, given)
		require.Contains(t, errorOf(t, body)["message"], want)
	}
}

func manyTexts(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`"r%d"`, i)
	}
	return strings.Join(out, ",")
}

func mustCBOR(t *testing.T, text string) []byte {
	t.Helper()
	item, err := wire.FromJSON([]byte(text))
	require.NoError(t, err)
	return item
}

func TestAwaitRun(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var asked []any
	f.store.awaitRun = func(_ context.Context, runID string, wait time.Duration, none bool) (world.Run, error) {
		asked = []any{runID, wait, none}
		return world.Run{RunID: "r1", Status: world.RunRunning, WorkflowName: "w", CreatedAt: 1, UpdatedAt: 2}, nil
	}
	s := newServer(t, f)
	for query, want := range map[string][]any{
		"":                                {"r1", time.Duration(0), false},
		"?timeoutMs=0&resolveData=none":   {"r1", time.Duration(0), true},
		"?timeoutMs=1500.5":               {"r1", 1500500 * time.Microsecond, false},
		"?timeoutMs=60000":                {"r1", time.Minute, false},
		"?timeoutMs=99999999999999999999": {"r1", time.Minute, false},
		"?timeoutMs=Infinity":             {"r1", time.Minute, false},
	} {
		status, body := get(t, s, "/v1/runs/r1/wait"+query)
		require.Equal(t, http.StatusOK, status, query)
		require.Equal(t, plainRun, body)
		require.Equal(t, want, asked, query)
	}
	for _, bad := range []string{"-1", "x", "", "NaN"} {
		status, body := get(t, s, "/v1/runs/r1/wait?timeoutMs="+bad)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "timeoutMs must be milliseconds, 0 or more", errorOf(t, body)["message"])
	}
	f.store.awaitRun = func(context.Context, string, time.Duration, bool) (world.Run, error) {
		return world.Run{}, world.RunNotFound("r1")
	}
	status, body := get(t, s, "/v1/runs/r1/wait?timeoutMs=1")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "WorkflowRunNotFoundError", errorOf(t, body)["name"])
}

// A service that stops answers with the run as it is, and a caller that disconnects ends the wait.
func TestAwaitRunEndsWithTheServiceAndWithTheCaller(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	waiting, left := make(chan struct{}), make(chan error, 1)
	f.store.awaitRun = func(ctx context.Context, _ string, _ time.Duration, _ bool) (world.Run, error) {
		waiting <- struct{}{}
		<-ctx.Done()
		left <- ctx.Err()
		return world.Run{}, ctx.Err()
	}
	f.store.getRun = func(context.Context, string, bool) (world.Run, error) {
		return world.Run{RunID: "r1", Status: world.RunRunning, WorkflowName: "w", CreatedAt: 1, UpdatedAt: 2}, nil
	}
	s := newServer(t, f)
	base, stop, done := running(t, s)

	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/runs/r1/wait?timeoutMs=60000", nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	failed := make(chan error, 1)
	go func() {
		res, err := client.Do(req)
		if err == nil {
			err = errors.Join(errors.New("it was answered"), res.Body.Close())
		}
		failed <- err
	}()
	<-waiting
	hangUp()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.ErrorIs(t, <-left, context.Canceled)

	answered := make(chan *httptest.ResponseRecorder, 1)
	wait := call{method: http.MethodGet, target: "/v1/runs/r1/wait?timeoutMs=60000"}.request(t)
	go func() {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, wait)
		answered <- w
	}()
	<-waiting
	stop()
	w := <-answered
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, plainRun, w.Body.String())
	require.NoError(t, <-done)
}

func TestCancelRuns(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.cancelRuns = func(req world.CancelRuns) ([]world.CancelResult, error) {
		require.Equal(t, world.CancelRuns{RunIDs: []string{"a", "b", "c", "no such", "e"}, Reason: "why", RequestID: "k"}, req)
		return []world.CancelResult{
			{RunID: "a", Outcome: world.Cancelled},
			{RunID: "b", Outcome: world.AlreadyCancelled},
			{RunID: "c", Outcome: world.NotCancellable, Status: world.RunFailed},
			{RunID: "no such", Outcome: world.CancelNotFound},
			{RunID: "e", Outcome: world.CancelFailed, Code: world.CodeUnavailable, Retryable: true},
		}, nil
	}
	s := newServer(t, f)
	w := call{
		method: http.MethodPost, target: "/v1/runs/cancel", body: `{"runIds":["a","b","c","no such","e"],"cancelReason":"why"}`,
		header: map[string]string{transport.HeaderIdempotencyKey: "k"},
	}.do(t, s)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, `{"summary":{"requested":5,"cancelled":1,"alreadyCancelled":1,"notCancellable":1,"notFound":1,"failed":1},"results":[`+
		`{"runId":"a","outcome":"cancelled"},{"runId":"b","outcome":"already_cancelled"},{"runId":"c","outcome":"not_cancellable","status":"failed"},`+
		`{"runId":"no such","outcome":"not_found"},{"runId":"e","outcome":"failed","code":"unavailable","retryable":true}]}`, w.Body.String())
	for given, want := range map[string]string{
		`{}`:                                "body.runIds is missing",
		`{"runIds":[""]}`:                   "body.runIds has an entry that must be text",
		`{"runIds":["a"],"cancelReason":5}`: "body.cancelReason must be text",
		`{"runIds":["a"],"cancelReason":"` + strings.Repeat("ä", 513) + `"}`: "body.cancelReason has 513 characters; at most 512 are allowed",
		`{"runIds":[` + manyTexts(501) + `]}`:                                "body.runIds has more entries than the limit of 500",
	} {
		status, body := post(t, s, "/v1/runs/cancel", given)
		require.Equal(t, http.StatusBadRequest, status, given)
		require.Equal(t, want, errorOf(t, body)["message"])
	}
}

func TestSetAttributes(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	spec := 7
	f.store.getRun = func(_ context.Context, _ string, none bool) (world.Run, error) {
		require.True(t, none)
		return world.Run{SpecVersion: spec}, nil
	}
	var got world.CreateEvent
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		got = req
		return world.EventResult{Run: &world.Run{Attributes: raw(t, m{"a": "1"})}}, nil
	}
	s := newServer(t, f)
	status, body := post(t, s, "/v1/runs/r1/attributes", `{"changes":[{"key":"a","value":"1"},{"key":"b","value":null}],"allowReservedAttributes":true}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{"attributes":{"a":"1"}}`, body)
	require.Equal(t, world.CreateEvent{
		RunID: "r1", RequestID: "req_made_up", Type: world.EventAttrSet, SpecVersion: 4, ResolveNone: true, Data: got.Data,
	}, got)
	require.Equal(t, []any{m{"key": "a", "value": "1"}, m{"key": "b", "value": nil}}, decoded(t, got.Data.Get("changes")))
	require.Equal(t, "step", decoded(t, got.Data.Get("writer")).(m)["type"], "replay passes over what a step wrote")
	require.Equal(t, world.Raw{cboritem.True}, got.Data.Get("allowReservedAttributes"))

	spec = 3
	status, body = post(t, s, "/v1/runs/r1/attributes", `{"changes":[]}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "run r1 has spec version 3, attributes need 4", errorOf(t, body)["message"])
	for given, want := range map[string]string{
		`{}`:              "body.changes is missing",
		`{"changes":"x"}`: "event.eventData.changes must be a list",
		`{"changes":[],"allowReservedAttributes":"yes"}`: "body.allowReservedAttributes must be true or false",
	} {
		status, body = post(t, s, "/v1/runs/r1/attributes", given)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, want, errorOf(t, body)["message"])
	}
}

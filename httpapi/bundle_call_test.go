package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/bundle"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

// The other calls of a bundle are served as if they were alone, too.
func TestABundledCallIsServedAsOneByItself(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getRun = func(_ context.Context, id string, none bool) (world.Run, error) {
		return world.Run{RunID: id, WorkflowName: fmt.Sprint(none), Output: raw(t, make([]byte, 5000))}, nil
	}
	f.store.getStep = func(run, step string, _ bool) (world.Step, error) {
		if step == "gone" {
			return world.Step{}, &world.Error{Code: world.CodeStepNotFound, Message: "no such step", RunID: run}
		}
		return world.Step{RunID: run, StepID: step}, nil
	}
	var asked []string
	f.queue.enqueue = func(msg world.Message) (string, error) {
		asked = append(asked, fmt.Sprint(msg.QueueName, " ", msg.RequestID, " ", msg.RunID))
		if msg.IdempotencyKey == "busy" {
			return "", &world.Error{Code: world.CodeThrottled, Message: "later", RetryAfter: 9}
		}
		return "msg_1", nil
	}
	var seen []string
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.MaxBody = 4 << 10
		c.Observe = func(method, route string, status int, _ time.Duration) {
			seen = append(seen, fmt.Sprint(method, " ", route, " ", status))
		}
	})
	wake := m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}}
	for name, c := range map[string]struct {
		path, key string
		body      any // nil: a GET
		status    int
	}{
		"a message":             {"/v1/queue", "k1", wake, 200},
		"a message, no key":     {"/v1/queue", "", wake, 200},
		"a throttled one":       {"/v1/queue", "k1", m{"queueName": "__wkf_workflow_w", "message": m{}, "idempotencyKey": "busy"}, 429},
		"no queue":              {"/v1/queue", "k1", m{"queueName": "w", "message": m{}}, 400},
		"an empty body":         {"/v1/queue", "k1", []byte{}, 400},
		"a large body":          {"/v1/queue", "k1", m{"queueName": "__wkf_workflow_w", "message": make([]byte, 5000)}, 413},
		"a large event":         {"/v1/runs/" + runID + "/events", "k1", m{"event": m{"eventType": "run_completed", "eventData": m{"output": make([]byte, 5000)}}}, 413},
		"a key that is no key":  {"/v1/queue", "kä", wake, 400},
		"a run":                 {"/v1/runs/" + runID, "", nil, 200},
		"a run, no payloads":    {"/v1/runs/" + runID + "?resolveData=none", "", nil, 200},
		"a run, a wrong query":  {"/v1/runs/" + runID + "?resolveData=some", "", nil, 400},
		"a run, half a query":   {"/v1/runs/" + runID + "?resolveData=%", "", nil, 400},
		"a run, an encoded id":  {"/v1/runs/%77run_1", "", nil, 200},
		"no run":                {"/v1/runs/a%2Fb", "", nil, 400},
		"a step":                {"/v1/runs/" + runID + "/steps/s", "", nil, 200},
		"a step that is gone":   {"/v1/runs/" + runID + "/steps/gone?", "", nil, 404},
		"no step":               {"/v1/runs/" + runID + "/steps/%20", "", nil, 400},
		"what Redis lost":       {"/v1/runs/lost", "", nil, 404},
		"what Redis lost, page": {"/v1/runs/lost?limit=0", "", nil, 400},
	} {
		alone := call{method: http.MethodGet, target: c.path, header: map[string]string{"Accept": input.TypeCBOR}}
		bundled := m{"path": c.path}
		if c.body != nil {
			body, isBytes := c.body.([]byte)
			if !isBytes {
				body = raw(t, c.body)
			}
			alone.method, alone.body = http.MethodPost, body
			bundled["body"] = body
		}
		if c.key != "" {
			alone.header[transport.HeaderIdempotencyKey], bundled["key"] = c.key, c.key
		}
		asked, seen = nil, nil
		direct := alone.do(t, s)
		require.Equal(t, c.status, direct.Code, name)
		askedAlone, seenAlone := asked, seen
		asked, seen = nil, nil
		status, encoded := s.main.bundles.AnswerMessage(t.Context(), []byte("abcd"), raw(t, m{"calls": []m{bundled}}), nil)
		require.Equal(t, http.StatusOK, status, name)
		got := answersOf(t, encoded[bundle.AnswerHeaderSize:])
		require.Equal(t, []bundledReply{{Status: direct.Code, Body: direct.Body.Bytes(), RetryAfter: direct.Header().Get("Retry-After")}}, got, name)
		require.Equal(t, askedAlone, asked, name)
		require.Equal(t, seenAlone, seen, name)
	}
}

// A caller with a connection may bundle reads of any size: their answers are sent with those of the bundle, not
// separately.
func TestBundledReadsOfAnySize(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getStep = func(_, id string, _ bool) (world.Step, error) {
		size, err := strconv.Atoi(id)
		return world.Step{RunID: runID, StepID: id, Output: raw(t, make([]byte, size))}, err
	}
	base, stop, done := running(t, newServer(t, f))
	sizes := []int{0, 3000, 5000, 20_000, 60_000, 70_000}
	var calls []m
	for _, size := range sizes {
		calls = append(calls, m{"path": fmt.Sprint("/v1/runs/", runID, "/steps/", size)})
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/calls", bytes.NewReader(raw(t, m{"calls": calls})))
	require.NoError(t, err)
	request.Header.Set("Content-Type", input.TypeCBOR)
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	for i, one := range answersOf(t, body) {
		require.Equal(t, http.StatusOK, one.Status, sizes[i])
		require.Greater(t, len(one.Body), sizes[i])
	}
	stop()
	require.NoError(t, <-done)
}

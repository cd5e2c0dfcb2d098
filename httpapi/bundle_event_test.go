package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

// A bundled event does not pass the router, but is answered, counted and identified as one that does, refused or not.
func TestABundledEventIsServedAsOneByItself(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var mu sync.Mutex
	var asked []world.CreateEvent
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		mu.Lock()
		asked = append(asked, req)
		mu.Unlock()
		switch req.CorrelationID {
		case "step_busy":
			return world.EventResult{}, &world.Error{Code: world.CodeUnavailable, Message: "Redis is away", RetryAfter: 7}
		case "step_broken":
			return world.EventResult{}, fmt.Errorf("a cause that stays inside")
		case "step_panic":
			panic("broken")
		}
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: req.RunID, Type: req.Type, Data: req.Data}, StepCreated: true}, nil
	}
	var seen []string
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.Observe = func(method, route string, status int, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(method, " ", route, " ", status))
		}
	})
	ofRun := "/v1/runs/" + runID + "/events"
	created := m{"event": m{"eventType": "run_created", "specVersion": 3, "eventData": m{"deploymentId": "d", "workflowName": "w", "input": []byte{1}}}}
	for name, c := range map[string]struct {
		path, key string
		body      any
		status    int
	}{
		"fine":                 {ofRun, "k1", stepCreated("step_1"), 200},
		"without a key":        {ofRun, "", stepCreated("step_1"), 200},
		"large":                {ofRun, "k1", m{"event": m{"eventType": "run_completed", "eventData": m{"output": make([]byte, 100<<10)}}}, 200},
		"without a run id":     {"/v1/events", "k1", created, 200},
		"an encoded id":        {"/v1/runs/" + strings.Replace(runID, "w", "%77", 1) + "/events", "k1", stepCreated("step_1"), 200},
		"no id":                {"/v1/runs/a%20b/events", "k1", stepCreated("step_1"), 400},
		"dots":                 {"/v1/runs/../events", "k1", stepCreated("step_1"), 400},
		"another event first":  {"/v1/events", "k1", stepCreated("step_1"), 400},
		"an empty body":        {ofRun, "k1", []byte{}, 400},
		"half a body":          {ofRun, "k1", []byte{0xa1, 0x61}, 400},
		"two bodies":           {ofRun, "k1", []byte{0xa0, 0xa0}, 400},
		"no event":             {ofRun, "k1", m{}, 400},
		"a key that is no key": {ofRun, "kä", stepCreated("step_1"), 400},
		"unavailable":          {ofRun, "k1", stepCreated("step_busy"), 503},
		"an internal error":    {ofRun, "k1", stepCreated("step_broken"), 500},
		"a panic":              {ofRun, "k1", stepCreated("step_panic"), 500},
	} {
		body, isBytes := c.body.([]byte)
		if !isBytes {
			body = raw(t, c.body)
		}
		asked, seen = nil, nil
		alone := call{method: http.MethodPost, target: c.path, body: body, header: map[string]string{transport.HeaderIdempotencyKey: c.key, "Accept": input.TypeCBOR}}.do(t, s)
		require.Equal(t, c.status, alone.Code, name)
		askedAlone, seenAlone := asked, seen
		asked, seen = nil, nil
		got := sendBundle(t, s, nil, m{"path": c.path, "key": c.key, "body": body})
		require.Equal(t, alone.Code, got[0].Status, name)
		require.Equal(t, alone.Body.String(), string(got[0].Body), name)
		require.Equal(t, alone.Header().Get("Retry-After"), got[0].RetryAfter, name)
		require.Equal(t, askedAlone, asked, name)
		require.Equal(t, append(seenAlone, "POST /v1/calls 200"), seen, name)
	}
}

// Answers reuse the memory of earlier answers. Here the concurrent answers of many bundles have all sizes, and each has
// its own content.
func TestAnswersDoNotShareMemory(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{Event: &world.Event{EventID: "wevt_" + req.CorrelationID, RunID: req.RunID, Type: req.Type, Data: req.Data}}, nil
	}
	s := newServer(t, f)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for round := range 10 {
				var calls []m
				for n := range 16 {
					id := fmt.Sprintf("step_%d_%d_%d", i, round, n)
					calls = append(calls, inBundle(t, "/v1/runs/"+runID+"/events", id, m{"event": m{
						"eventType": "step_completed", "correlationId": id, "specVersion": 3, "eventData": m{"result": strings.Repeat(id, 1+n*n)},
					}}))
				}
				for n, answer := range sendBundle(t, s, nil, calls...) {
					id := fmt.Sprintf("step_%d_%d_%d", i, round, n)
					require.Equal(t, 200, answer.Status)
					event := decoded(t, answer.Body).(m)["event"].(m)
					require.Equal(t, "wevt_"+id, event["eventId"])
					require.Equal(t, m{"result": strings.Repeat(id, 1+n*n)}, event["eventData"])
				}
			}
		})
	}
	callers.Wait()
}

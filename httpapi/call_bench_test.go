package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// benchServer answers every call of the benchmarks immediately.
func benchServer(b *testing.B) *Server {
	b.Helper()
	store := fakeStore{
		createEvent: func(req world.CreateEvent) (world.EventResult, error) {
			return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: req.RunID, Type: req.Type, CorrelationID: req.CorrelationID, Data: req.Data}}, nil
		},
		getStep: func(runID, stepID string, _ bool) (world.Step, error) {
			return world.Step{RunID: runID, StepID: stepID, StepName: "add", Status: world.StepRunning}, nil
		},
		getRun: func(_ context.Context, runID string, _ bool) (world.Run, error) {
			return world.Run{RunID: runID, WorkflowName: "w", Status: world.RunRunning}, nil
		},
	}
	queue := fakeQueue{enqueue: func(world.Message) (string, error) { return "msg_1", nil }}
	s, err := New(Config{Listen: "127.0.0.1:0"}, Deps{Store: &store, Queue: &queue, Apps: &fakeApps{}, Streams: &fakeStreams{}})
	require.NoError(b, err)
	b.Cleanup(s.close)
	return s
}

// A bundle with each kind of call that may be in one.
func BenchmarkMixedBundle(b *testing.B) {
	s := benchServer(b)
	event := raw(b, m{"event": m{
		"eventType": "step_completed", "correlationId": "step_01HZX0000000000000000000AA", "specVersion": 3, "eventData": m{"result": make([]byte, 300)},
	}})
	message := raw(b, m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}})
	ofRun := "/v1/runs/" + runID
	var calls []m
	for i := range 4 {
		calls = append(calls,
			m{"path": ofRun + "/events", "key": fmt.Sprint("key_", i), "body": event, "then": m{"path": "/v1/queue", "key": fmt.Sprint("then_", i), "body": message}},
			m{"path": "/v1/queue", "key": fmt.Sprint("queue_", i), "body": message},
			m{"path": ofRun + "/steps/step_01HZX0000000000000000000AA?resolveData=none"}, m{"path": ofRun})
	}
	body := raw(b, m{"calls": calls})
	b.ReportAllocs()
	for b.Loop() {
		benchCall(b, s, http.MethodPost, "/v1/calls", body)
	}
}

// One call of each kind, each in its own request.
func BenchmarkRequest(b *testing.B) {
	s := benchServer(b)
	for name, one := range map[string]struct {
		method, path string
		body         []byte
	}{
		"event": {http.MethodPost, "/v1/runs/" + runID + "/events", raw(b, m{"event": m{
			"eventType": "step_completed", "correlationId": "step_01HZX0000000000000000000AA", "specVersion": 3, "eventData": m{"result": make([]byte, 300)},
		}})},
		"queue": {http.MethodPost, "/v1/queue", raw(b, m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}})},
		"step":  {http.MethodGet, "/v1/runs/" + runID + "/steps/step_1?resolveData=none", nil},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchCall(b, s, one.method, one.path, one.body)
			}
		})
	}
}

func benchCall(b *testing.B, s *Server, method, path string, body []byte) {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), method, "http://localhost"+path, bytes.NewReader(body))
	if body != nil {
		r.Header.Set("Content-Type", input.TypeCBOR)
		r.Header.Set("Idempotency-Key", "key_1")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(w.Code, w.Body.String())
	}
}

package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// A log of 25,000 events is the largest answer; a step's event is the most frequent call.

func BenchmarkListEvents(b *testing.B) {
	page := world.Page[world.Event]{Cursor: "25000"}
	for i := range 25_000 {
		page.Data = append(page.Data, world.Event{
			EventID: fmt.Sprintf("evnt_%026d", i), RunID: runID, Type: world.EventStepCompleted, CorrelationID: fmt.Sprintf("step_%026d", i),
			SpecVersion: 7, CreatedAt: 1700000000000, Data: world.Fields{
				{Key: "stepName", Value: raw(b, "step//./workflows/x//add")}, {Key: "result", Value: raw(b, make([]byte, 45))},
			},
		})
	}
	store := fakeStore{listEvents: func(world.EventQuery) (world.Page[world.Event], error) { return page, nil }}
	s, err := New(Config{Listen: "127.0.0.1:0"}, Deps{Store: &store, Queue: &fakeQueue{}, Apps: &fakeApps{}, Streams: &fakeStreams{}})
	require.NoError(b, err)
	for _, accept := range []string{input.TypeCBOR, input.TypeJSON} {
		b.Run(accept, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://localhost/v1/runs/"+runID+"/events", nil)
				r.Header.Set("Accept", accept)
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				b.SetBytes(int64(w.Body.Len()))
			}
		})
	}
}

// Sixteen calls in one request, as a busy client sends them.
func BenchmarkBundle(b *testing.B) {
	store := fakeStore{createEvent: func(req world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: req.RunID, Type: req.Type, CorrelationID: req.CorrelationID, Data: req.Data}}, nil
	}}
	s, err := New(Config{Listen: "127.0.0.1:0"}, Deps{Store: &store, Queue: &fakeQueue{}, Apps: &fakeApps{}, Streams: &fakeStreams{}})
	require.NoError(b, err)
	defer s.close()
	event := raw(b, m{"event": m{
		"eventType": "step_completed", "correlationId": "step_01HZX0000000000000000000AA", "specVersion": 3, "eventData": m{"result": make([]byte, 300)},
	}})
	calls := make([]m, 16)
	for i := range calls {
		calls[i] = m{"path": "/v1/runs/" + runID + "/events", "key": fmt.Sprint("key_", i), "body": event}
	}
	body := raw(b, m{"calls": calls})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://localhost/v1/calls", bytes.NewReader(body))
		r.Header.Set("Content-Type", input.TypeCBOR)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

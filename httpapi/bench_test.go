package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// A log of 25,000 events is the largest answer there is; a step's event the most frequent call.

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
	for _, accept := range []string{typeCBOR, typeJSON} {
		b.Run(accept, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/runs/"+runID+"/events", nil)
				r.Header.Set("Accept", accept)
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				b.SetBytes(int64(w.Body.Len()))
			}
		})
	}
}

func BenchmarkEventBody(b *testing.B) {
	body := raw(b, m{"event": m{
		"eventType": "step_completed", "correlationId": "step_1", "specVersion": 7,
		"eventData": m{"stepName": "step//./workflows/x//add", "result": make([]byte, 1<<20)},
	}, "params": m{"occurredAt": 1700000000000, "sinceCursor": "12"}})
	codec, err := newCodec()
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if codec.cbor.Wellformed(body) != nil {
			b.Fatal("not well-formed")
		}
		if _, err := codec.eventRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

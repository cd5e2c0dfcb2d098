package httpapi

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callsocket"
)

// One small call per message, and one message after the other, as a busy process of one caller sends over its socket.
func BenchmarkSocket(b *testing.B) {
	store := fakeStore{createEvent: func(req world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: req.RunID, Type: req.Type, CorrelationID: req.CorrelationID, Data: req.Data}}, nil
	}}
	s, err := New(Config{Listen: "127.0.0.1:0"}, Deps{Store: &store, Queue: &fakeQueue{}, Apps: &fakeApps{}, Streams: &fakeStreams{}})
	require.NoError(b, err)
	defer s.close()
	event := raw(b, m{"event": m{
		"eventType": "step_completed", "correlationId": "step_01HZX0000000000000000000AA", "specVersion": 3, "eventData": m{"result": make([]byte, 300)},
	}})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			conn, _, err := websocket.Dial(b.Context(), server.URL+"/v1/calls", &websocket.DialOptions{Subprotocols: []string{callsocket.Protocol}}) //nolint:bodyclose // websocket closes it
			require.NoError(b, err)
			defer func() { _ = conn.CloseNow() }()
			conn.SetReadLimit(1 << 20)
			calls := make([]m, n)
			for i := range calls {
				calls[i] = m{"path": "/v1/runs/" + runID + "/events", "key": fmt.Sprint("key_", i), "body": event}
			}
			message := append([]byte("benc"), raw(b, m{"calls": calls})...)
			b.ReportAllocs()
			for b.Loop() {
				if err := conn.Write(context.Background(), websocket.MessageBinary, message); err != nil {
					b.Fatal(err)
				}
				if _, _, err := conn.Read(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

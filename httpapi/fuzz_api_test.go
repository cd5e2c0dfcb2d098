package httpapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/bundle"
	"github.com/world-redis/world-redis/httpapi/internal/callsocket"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
)

// agreeable is a server on a store, a queue and streams that accept everything and return the payloads that they got.
func agreeable(f *testing.F) *Server {
	f.Helper()
	fakes := &fakes{}
	eventOf := func(req world.CreateEvent) *world.Event {
		return &world.Event{EventID: "wevt_1", RunID: runID, Type: req.Type, CorrelationID: req.CorrelationID, Data: req.Data}
	}
	fakes.store = fakeStore{
		createEvent: func(req world.CreateEvent) (world.EventResult, error) {
			return world.EventResult{Event: eventOf(req), Run: &world.Run{RunID: runID}}, nil
		},
		createBatch: func(req world.CreateBatch) ([]world.BatchItem, error) {
			items := make([]world.BatchItem, len(req.Events))
			for i := range items {
				items[i].Result.Event = eventOf(req.Events[i])
			}
			return items, nil
		},
		getRun:  func(context.Context, string, bool) (world.Run, error) { return world.Run{RunID: runID}, nil },
		getRuns: func(ids []string, _ bool) ([]*world.Run, error) { return make([]*world.Run, len(ids)), nil },
		getStep: func(string, string, bool) (world.Step, error) { return world.Step{RunID: runID}, nil },
		cancelRuns: func(req world.CancelRuns) ([]world.CancelResult, error) {
			return make([]world.CancelResult, len(req.RunIDs)), nil
		},
		fakeLegacy: fakeLegacy{
			createRun:   func(world.CreateLegacyRun) (world.Run, error) { return world.Run{RunID: runID}, nil },
			updateRun:   func(world.UpdateLegacyRun) (world.Run, error) { return world.Run{RunID: runID}, nil },
			createStep:  func(world.CreateLegacyStep) (world.Step, error) { return world.Step{RunID: runID}, nil },
			updateStep:  func(world.UpdateLegacyStep) (world.Step, error) { return world.Step{RunID: runID}, nil },
			appendEvent: func(world.CreateLegacyEvent) (world.Event, error) { return world.Event{RunID: runID}, nil },
			createHook:  func(world.CreateLegacyHook) (world.Hook, error) { return world.Hook{RunID: runID}, nil },
			disposeHook: func(world.DisposeLegacyHook) (world.Hook, error) { return world.Hook{RunID: runID}, nil },
		},
	}
	fakes.queue.enqueue = func(world.Message) (string, error) { return "msg_1", nil }
	fakes.apps = fakeApps{register: func(world.App) error { return nil }, unregister: func(string, string) error { return nil }}
	deps := fakes.deps()
	deps.Streams = forgetful{&fakeStreams{
		append: func(world.Append) (int64, error) { return 0, nil },
		close:  func(world.StreamClose) error { return nil },
	}}
	s, err := New(Config{Listen: "127.0.0.1:0"}, deps)
	require.NoError(f, err)
	f.Cleanup(s.close)
	return s
}

// forgetful streams do not record announced appends, because there are millions.
type forgetful struct{ *fakeStreams }

func (forgetful) ExpectAppend(string) (over func()) { return func() {} }

// A body of any bytes, for any route, is accepted or refused with a reason; none is an internal error.
func FuzzBody(f *testing.F) {
	run := "/v1/runs/" + runID
	paths := []string{
		"/v1/queue", "/v1/apps", "/v1/apps/unregister", "/v1/runs/get", "/v1/runs/cancel", run + "/attributes", "/v1/events", run + "/events", run + "/events/batch", "/v1/calls",
		run + "/streams/s", run + "/streams/s/close", "/.well-known/workflow/v1/flow", "/.well-known/workflow/v1/step",
		"/v1/legacy/runs", "/v1/legacy" + run[3:], "/v1/legacy" + run[3:] + "/cancel", "/v1/legacy" + run[3:] + "/steps", "/v1/legacy" + run[3:] + "/steps/s", "/v1/legacy" + run[3:] + "/events",
		"/v1/legacy" + run[3:] + "/hooks", "/v1/legacy/hooks/h/dispose",
	}
	types := []string{input.TypeCBOR, input.TypeJSON, livestream.TypeFrames, "application/octet-stream", "text/plain"}
	seed := func(path uint8, body any) {
		f.Add(path, uint8(0), uint8(1), []byte(raw(f, body)))
		f.Add(path, uint8(1), uint8(0), []byte(`{"a":[1,{"__type":"Uint8Array","data":"AQ=="}]}`))
	}
	seed(0, m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}, "headers": m{"a": "b"}, "delaySeconds": 1, "app": m{"baseUrl": "http://a", "deploymentId": "d"}})
	seed(0, m{"queueName": "__wkf_step_s", "jsonMessage": `{"workflowRunId":"wrun_1","stepId":"s"}`, "idempotencyKey": "k"})
	for _, path := range []uint8{1, 2} {
		seed(path, m{"baseUrl": "http://127.0.0.1:3000", "deploymentId": "d", "sdk": "v4", "attach": []string{"run_started"}, "leaseSeconds": 90, "namespace": "a"})
	}
	seed(3, m{"runIds": []string{runID}, "resolveData": "none"})
	seed(4, m{"runIds": []string{runID}, "reason": "r"})
	seed(5, m{"changes": []m{{"key": "a", "value": "b"}}})
	for _, path := range []uint8{6, 7} {
		seed(path, m{"event": m{"eventType": "run_created", "specVersion": 7, "eventData": m{"deploymentId": "d", "workflowName": "w", "input": []byte{1}}}, "params": m{"sinceCursor": "c"}})
	}
	seed(8, m{"events": []m{{"event": m{"eventType": "step_created", "correlationId": "step_1", "specVersion": 7, "eventData": m{"stepName": "s"}}, "occurredAt": 1}}})
	seed(9, m{"calls": []m{{"path": run}}})
	f.Add(uint8(10), uint8(2), uint8(0), []byte("\x00\x00\x00\x01a\x00\x00\x00\x00"))
	seed(14, m{"deploymentId": "d", "workflowName": "w", "input": []int{1}})
	seed(15, m{"status": "completed", "output": 1, "error": m{"message": "m"}})
	seed(17, m{"stepId": "s", "stepName": "n", "input": []int{1}})
	seed(19, m{"eventType": "step_failed", "correlationId": "s", "eventData": m{"error": "e"}})
	seed(20, m{"hookId": "h", "token": "t", "metadata": m{}})

	s := agreeable(f)
	f.Fuzz(func(t *testing.T, path, contentType, accept uint8, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths[int(path)%len(paths)], bytes.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", types[int(contentType)%len(types)])
		r.Header.Set("Accept", types[int(accept)%2])
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		require.Less(t, w.Code, http.StatusInternalServerError, w.Body)
		if accept%2 == 0 && w.Body.Len() > 0 {
			require.NoError(t, cbor.Wellformed(w.Body.Bytes()))
		}
	})
}

// A message of any bytes on a call socket gets one answer with its four bytes, which is a bundle of answers, one for
// each call, or a refusal.
func FuzzCallMessage(f *testing.F) {
	event := []byte(raw(f, m{"event": m{"eventType": "step_created", "correlationId": "step_1", "specVersion": 7, "eventData": m{"stepName": "s", "input": []byte{1}}}}))
	message := []byte(raw(f, m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}}))
	path := "/v1/runs/" + runID + "/events"
	for _, calls := range [][]m{
		{{"path": path, "key": "k", "body": event, "then": m{"path": "/v1/queue", "key": "l", "body": message}}, {"path": "/v1/runs/" + runID}},
		{{"path": "/v1/events", "body": event}, {"path": "/v1/queue", "body": message}, {"path": "/v1/runs/" + runID + "/steps/s?resolveData=none"}},
		{{"path": path, "body": []byte{0xa0}}},
		{{"path": "/v1/runs"}},
	} {
		f.Add([]byte(raw(f, m{"calls": calls})))
	}
	s := agreeable(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		status, encoded := s.main.bundles.AnswerMessage(t.Context(), []byte("abcd"), body, nil)
		require.GreaterOrEqual(t, len(encoded), bundle.AnswerHeaderSize)
		require.Equal(t, "abcd", string(encoded[:bundle.MessageIDSize]))
		require.Less(t, status, http.StatusInternalServerError)
		var answer struct {
			Answers []bundledReply `cbor:"answers"`
			Error   m              `cbor:"error"`
		}
		require.NoError(t, cbor.Unmarshal(encoded[bundle.AnswerHeaderSize:], &answer))
		if status != http.StatusOK {
			require.Contains(t, answer.Error, "code")
			return
		}
		require.Len(t, answer.Answers, len(input.ObjectOf("body", body).List("calls", bundle.MaxCalls)))
		for _, one := range answer.Answers {
			require.Less(t, one.Status, http.StatusInternalServerError, "%s", one.Body)
		}
	})
}

// For any bytes on a connection that has become a call socket, the socket ends with the connection.
func FuzzSocketFrames(f *testing.F) {
	message := append([]byte("abcd"), raw(f, m{"calls": []m{{"path": "/v1/runs/" + runID}}})...)
	for _, frames := range [][]byte{
		frameOf(0x82, message), append(frameOf(0x02, message[:9]), frameOf(0x80, message[9:])...), frameOf(0x81, message), frameOf(0x89, []byte("ping")), frameOf(0x88, []byte{3, 0xe8}),
		append(frameOf(0x82, message), frameOf(0x82, message)...), frameOf(0x82, []byte("abc")), frameOf(0xff, message),
		{0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		f.Add(frames)
	}
	s := agreeable(f)
	conns := make(chan net.Conn)
	var handlers sync.WaitGroup
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer handlers.Done()
		s.Handler().ServeHTTP(w, r)
	})}
	served := make(chan error)
	go func() { served <- server.Serve(listenerOf(conns)) }()
	f.Cleanup(func() {
		close(conns)
		require.ErrorIs(f, <-served, net.ErrClosed)
	})
	const handshake = "GET /v1/calls HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: " + callsocket.Protocol + "\r\n\r\n"
	f.Fuzz(func(t *testing.T, frames []byte) {
		client, ours := net.Pipe()
		handlers.Add(1)
		conns <- ours
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, client)
		}()
		_, err := client.Write([]byte(handshake))
		require.NoError(t, err)
		_, _ = client.Write(frames) // it may hang up in the middle
		require.NoError(t, client.Close())
		<-drained
		handlers.Wait()
	})
}

// frameOf is one frame of a client, masked with zeros.
func frameOf(first byte, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{first, 0x80 | byte(len(payload))}, 0), payload...)
}

// listenerOf is a listener for connections that the test makes.
type listenerOf <-chan net.Conn

func (l listenerOf) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (listenerOf) Close() error   { return nil }
func (listenerOf) Addr() net.Addr { return &net.TCPAddr{} }

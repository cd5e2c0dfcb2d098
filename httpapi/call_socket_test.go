package httpapi

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callsocket"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

// testSocket is a client of a call socket.
type testSocket struct {
	t    *testing.T
	conn *websocket.Conn
}

func openSocket(t *testing.T, url string, header http.Header) (*websocket.Conn, int, error) {
	t.Helper()
	options := &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{callsocket.Protocol}}
	conn, answer, err := websocket.Dial(t.Context(), url+"/v1/calls", options) //nolint:bodyclose // websocket closes it
	if answer == nil {
		return conn, 0, err
	}
	return conn, answer.StatusCode, err
}

func newTestSocket(t *testing.T, s *Server, header http.Header) *testSocket {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	conn, _, err := openSocket(t, server.URL, header)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &testSocket{t, conn}
}

func (k *testSocket) send(id string, calls any) {
	k.t.Helper()
	body, err := cbor.Marshal(m{"calls": calls})
	require.NoError(k.t, err)
	require.NoError(k.t, k.conn.Write(k.t.Context(), websocket.MessageBinary, append([]byte(id), body...)))
}

func (k *testSocket) receive() (id string, status int, body []byte) {
	k.t.Helper()
	kind, message, err := k.conn.Read(k.t.Context())
	require.NoError(k.t, err)
	require.Equal(k.t, websocket.MessageBinary, kind)
	return string(message[:4]), int(binary.BigEndian.Uint16(message[4:])), message[6:]
}

// answers splits the body of an answered bundle.
func (k *testSocket) answers(body []byte) []bundledReply {
	k.t.Helper()
	var got struct {
		Answers []bundledReply `cbor:"answers"`
	}
	require.NoError(k.t, cbor.Unmarshal(body, &got))
	return got.Answers
}

// withSteps answers each step_created with its step's name; a step in waits is answered once its channel is closed.
func withSteps(f *fakes, wait map[string]chan struct{}) {
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		if held := wait[req.CorrelationID]; held != nil {
			<-held
		}
		return world.EventResult{Event: &world.Event{EventID: "wevt_" + req.CorrelationID, RunID: runID, Type: req.Type}}, nil
	}
}

// Each message gets the answer that the same POST would get, with its own four bytes, as soon as it is ready: a slow
// one delays no other.
func TestCallSocketAnswersInAnyOrder(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	held := make(chan struct{})
	withSteps(f, map[string]chan struct{}{"step_slow": held})
	var counted atomic.Int64
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.Observe = func(method, route string, _ int, _ time.Duration) {
			if method == transport.MethodMessage && route == "/v1/calls" {
				counted.Add(1)
			}
		}
	})
	k := newTestSocket(t, s, nil)
	path := "/v1/runs/" + runID + "/events"
	k.send("slow", []m{inBundle(t, path, "k1", stepCreated("step_slow"))})
	k.send("fast", []m{inBundle(t, path, "k2", stepCreated("step_2")), inBundle(t, path, "k3", stepCreated("step_3"))})
	id, status, body := k.receive()
	require.Equal(t, "fast", id)
	require.Equal(t, http.StatusOK, status)
	got := k.answers(body)
	require.Len(t, got, 2)
	for i, step := range []string{"step_2", "step_3"} {
		require.Equal(t, http.StatusOK, got[i].Status)
		require.Contains(t, string(got[i].Body), "wevt_"+step)
	}
	posted := call{method: http.MethodPost, target: "/v1/calls", body: m{"calls": []m{inBundle(t, path, "k2", stepCreated("step_2")), inBundle(t, path, "k3", stepCreated("step_3"))}}}.do(t, s)
	require.Equal(t, posted.Body.Bytes(), body)

	close(held)
	id, _, body = k.receive()
	require.Equal(t, "slow", id)
	require.Contains(t, string(k.answers(body)[0].Body), "wevt_step_slow")
	require.EqualValues(t, 2, counted.Load())
}

// A message that is not a bundle is refused as the POST would be, and the socket stays open.
func TestCallSocketRefusesAMessage(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	withSteps(f, nil)
	k := newTestSocket(t, newServer(t, f), nil)
	k.send("none", []m{})
	id, status, body := k.receive()
	require.Equal(t, "none", id)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, string(body), "body.calls is empty")
	require.NoError(t, k.conn.Write(t.Context(), websocket.MessageBinary, []byte("oddx\xff\xff")))
	id, status, _ = k.receive()
	require.Equal(t, "oddx", id)
	require.Equal(t, http.StatusBadRequest, status)
	k.send("next", []m{inBundle(t, "/v1/runs/"+runID+"/events", "k", stepCreated("step_1"))})
	id, status, _ = k.receive()
	require.Equal(t, "next", id)
	require.Equal(t, http.StatusOK, status)

	require.NoError(t, k.conn.Write(t.Context(), websocket.MessageText, []byte("hello")))
	_, _, err := k.conn.Read(t.Context())
	require.Equal(t, websocket.StatusUnsupportedData, websocket.CloseStatus(err))
}

// Opening a socket needs a token, and its messages go to the namespace of that token.
func TestCallSocketBelongsToItsToken(t *testing.T) {
	t.Parallel()
	mainFakes, shop := newFakes(t), newFakes(t)
	got := make(chan string, 1)
	shop.queue.enqueue = func(msg world.Message) (string, error) {
		got <- msg.RequestID
		return "msg_1", nil
	}
	s := withNamespace(t, mainFakes, shop, "main")
	k := newTestSocket(t, s, http.Header{"Authorization": {"Bearer shop-new"}})
	k.send("abcd", []m{inBundle(t, "/v1/queue", "a", m{"queueName": "__wkf_workflow_w", "message": m{"runId": runID}})})
	_, status, _ := k.receive()
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "a", <-got)

	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	for _, header := range []http.Header{nil, {"Authorization": {"Bearer of nobody"}}} {
		_, status, err := openSocket(t, server.URL, header)
		require.Error(t, err)
		require.Equal(t, http.StatusUnauthorized, status)
	}
}

// Without tokens, a page of another origin may not open a socket, as it may not call.
func TestCallSocketIsNotForForeignPages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newServer(t, newFakes(t)).Handler())
	t.Cleanup(server.Close)
	_, status, err := openSocket(t, server.URL, http.Header{"Origin": {"https://elsewhere.example"}})
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, status)
	w := call{method: http.MethodGet, target: "/v1/calls"}.do(t, newServer(t, newFakes(t)))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), callsocket.Protocol)
}

// A service that stops asks the client to close the socket, answers the calls that it has received, and waits for both.
func TestCallSocketAtShutdown(t *testing.T) {
	t.Parallel()
	for name, hangsUp := range map[string]bool{"the client hangs up": true, "the client does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakes(t)
			held, begun := make(chan struct{}), make(chan struct{})
			f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
				close(begun)
				<-held
				return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: runID, Type: req.Type}}, nil
			}
			s := newServer(t, f)
			window := time.Duration(0)
			if !hangsUp {
				s.sockets.RetireGrace, window = time.Millisecond, 100*time.Millisecond
			}
			ctx, stop := context.WithCancel(t.Context())
			var ended error
			var running sync.WaitGroup
			running.Go(func() { ended = s.Run(ctx) })
			<-s.Listening()
			conn, _, err := openSocket(t, "http://"+s.Addr(), nil)
			require.NoError(t, err)
			k := &testSocket{t, conn}
			k.send("last", []m{inBundle(t, "/v1/runs/"+runID+"/events", "k", stepCreated("step_1"))})
			<-begun
			stop()
			kind, text, err := conn.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, websocket.MessageText, kind)
			require.Equal(t, callsocket.RetireText, string(text))
			next := make(chan string, 1)
			go func() {
				_, message, err := conn.Read(t.Context())
				next <- fmt.Sprintf("%.4s %v", message, err)
			}()
			select {
			case early := <-next:
				require.Fail(t, "it does not wait for the call", early)
			case <-time.After(window):
			}
			close(held)
			require.Equal(t, "last <nil>", <-next)
			if hangsUp {
				require.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))
			} else {
				_, _, err := conn.Read(t.Context())
				require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
			}
			running.Wait()
			require.NoError(t, ended)
			_, _, err = openSocket(t, "http://"+s.Addr(), nil)
			require.Error(t, err)
		})
	}
}

// A call whose client has disconnected is cancelled, as on a broken connection, and nothing is left behind.
func TestCallSocketWhoseClientIsGone(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	begun, gone := make(chan struct{}), make(chan struct{})
	f.store.getRun = func(ctx context.Context, _ string, _ bool) (world.Run, error) {
		close(begun)
		<-ctx.Done()
		close(gone)
		return world.Run{}, ctx.Err()
	}
	k := newTestSocket(t, newServer(t, f), nil)
	k.send("gone", []m{{"path": "/v1/runs/" + runID}})
	<-begun
	require.NoError(t, k.conn.CloseNow())
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Fatal("the call goes on")
	}
}

// More concurrent messages than a socket handles at a time: each gets its own answer.
func TestCallSocketWithManyMessages(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	withSteps(f, nil)
	k := newTestSocket(t, newServer(t, f), nil)
	const count = 5 * callsocket.CallsAtOnce
	messages := make([][]byte, count)
	for i := range messages {
		step := stepCreated("step_" + strings.Repeat("i", i%100))
		body, err := cbor.Marshal(m{"calls": []m{inBundle(t, "/v1/runs/"+runID+"/events", "", step)}})
		require.NoError(t, err)
		messages[i] = append(binary.BigEndian.AppendUint32(nil, uint32(i)), body...)
	}
	go func() {
		for _, message := range messages {
			if k.conn.Write(t.Context(), websocket.MessageBinary, message) != nil {
				return // receive reports it
			}
		}
	}()
	seen := map[uint32]bool{}
	for range count {
		id, status, body := k.receive()
		i := binary.BigEndian.Uint32([]byte(id))
		require.Equal(t, http.StatusOK, status)
		var event struct {
			Event struct {
				ID string `cbor:"eventId"`
			} `cbor:"event"`
		}
		require.NoError(t, cbor.Unmarshal(k.answers(body)[0].Body, &event))
		require.Len(t, event.Event.ID, len("wevt_step_")+int(i%100))
		seen[i] = true
	}
	require.Len(t, seen, count)
}

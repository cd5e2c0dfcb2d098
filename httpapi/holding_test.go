package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callsocket"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// largeRuns has runs of n bytes whose reads reserve memory as storage does. most is how many were read concurrently.
func largeRuns(f *fakes, size int) (most *atomic.Int64) {
	var now atomic.Int64
	most = new(atomic.Int64)
	input := world.Raw(append(cboritem.AppendHead(nil, cboritem.MajorBytes, uint64(size)), make([]byte, size)...))
	f.store.getRun = func(ctx context.Context, id string, _ bool) (world.Run, error) {
		if err := world.MakeRoom(ctx, int64(size)); err != nil {
			return world.Run{}, err
		}
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		return world.Run{RunID: id, Status: world.RunRunning, Input: input}, nil
	}
	return most
}

// bundleOf reads a run n times.
func bundleOf(n int) []m {
	calls := make([]m, n)
	for i := range calls {
		calls[i] = m{"path": "/v1/runs/" + runID}
	}
	return calls
}

// A bundle has at most 4 MiB of answers. A larger answer is sent alone, and the other calls are to be made separately:
// each of them is answered then.
func TestABundleHasALimitOfItsAnswers(t *testing.T) {
	t.Parallel()
	for size, whole := range map[int]int{5 << 20: 1, 1 << 20: 4, 300 << 10: 13, 50 << 10: 64} {
		f := newFakes(t)
		largeRuns(f, size)
		s := newServer(t, f)
		got := sendBundle(t, s, nil, bundleOf(64)...)
		count := map[int]int{}
		for _, answer := range got {
			count[answer.Status]++
			if answer.Status == http.StatusTooManyRequests {
				require.Equal(t, "1", answer.RetryAfter)
				require.Contains(t, string(answer.Body), "over_budget")
				require.Contains(t, string(answer.Body), "ThrottleError")
			}
		}
		require.Equal(t, map[int]int{200: whole, 429: 64 - whole}, withZeros(count), size)
		require.Zero(t, s.main.memory.Used(), "all is given back")
	}
}

func withZeros(count map[int]int) map[int]int {
	return map[int]int{200: count[200], 429: count[429]}
}

// This also holds for an answer for which no memory was reserved: it is dropped once it is read.
func TestABundleDropsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: req.RunID, Type: req.Type, Data: world.Fields{
			{Key: "input", Value: raw(t, make([]byte, 300<<10))},
		}}}, nil
	}
	s := newServer(t, f)
	calls := make([]m, 32)
	for i := range calls {
		calls[i] = inBundle(t, "/v1/runs/"+runID+"/events", fmt.Sprint("k", i), stepCreated(fmt.Sprint("step_", i)))
	}
	count := map[int]int{}
	for _, answer := range sendBundle(t, s, nil, calls...) {
		count[answer.Status]++
	}
	require.Equal(t, map[int]int{200: 13, 429: 19}, withZeros(count))
	require.Zero(t, s.main.memory.Used())
}

// A socket client that reads nothing holds at most its share, and others of the namespace are served.
func TestASocketThatIsNotReadHoldsItsShare(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	largeRuns(f, 4<<20)
	s := newServer(t, f, func(c *Config, _ *Deps) { c.Memory = 64 << 20 })
	s.main.memory.Patience = 10 * time.Millisecond
	base, stop, done := running(t, s)
	conn, _, err := openSocket(t, base, nil)
	require.NoError(t, err)
	k := &testSocket{t, conn}
	for i := range 6 {
		k.send(fmt.Sprintf("no%02d", i), bundleOf(64))
	}
	for range 10 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/runs/"+runID, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.LessOrEqual(t, s.main.memory.Used(), int64(16<<20)+3*(4<<20))
	}
	// Once it reads, all are answered: with a run each, or with none if the call had to wait too long.
	conn.SetReadLimit(16 << 20)
	for range 6 {
		_, status, body := k.receive()
		require.Equal(t, http.StatusOK, status)
		require.Len(t, k.answers(body), 64)
		require.LessOrEqual(t, len(body), 6<<20)
	}
	require.Eventually(t, func() bool { return s.main.memory.Used() == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, conn.CloseNow())
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.NoError(t, <-done)
}

// A message for which there is no memory is answered accordingly, and the socket stays open.
func TestAMessageOverBudget(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	largeRuns(f, 10)
	s := newServer(t, f)
	s.main.memory.Patience = time.Millisecond
	k := newTestSocket(t, s, nil)
	rest := s.main.memory.Hold()
	require.NoError(t, rest.Take(t.Context(), 96<<20)) // all that is for large ones
	big := m{"path": "/v1/runs/" + runID, "key": strings.Repeat("x", 100)}
	calls := []m{big, {"path": "/v1/runs/" + runID + "/events", "body": make([]byte, 1<<20)}}
	k.send("big1", calls)
	id, status, body := k.receive()
	require.Equal(t, "big1", id)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, string(body), "over_budget")
	k.send("tiny", bundleOf(2))
	id, status, _ = k.receive()
	require.Equal(t, "tiny", id)
	require.Equal(t, http.StatusOK, status)
	rest.Release()
	k.send("big2", calls)
	_, status, _ = k.receive()
	require.Equal(t, http.StatusOK, status)
}

// Bodies are counted as they arrive: announced ones that do not come take nothing from others.
func TestBodiesCountAsTheyArrive(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.queue.enqueue = func(world.Message) (string, error) { return "m", nil }
	s := newServer(t, f, func(c *Config, _ *Deps) { c.Memory = 32 << 20 })
	s.main.memory.Patience = time.Millisecond
	base, stop, done := running(t, s)
	conns := make([]net.Conn, 100)
	for i := range conns {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST /v1/queue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/cbor\r\nContent-Length: 4194304\r\n\r\n1234")
		require.NoError(t, err)
		conns[i] = conn
	}
	require.Eventually(t, func() bool { return s.main.memory.Used() == 100*64<<10 }, time.Minute, time.Millisecond)
	body := raw(t, m{"queueName": "__wkf_step_x", "message": make([]byte, 3<<20)})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/queue", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", input.TypeCBOR)
	resp, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	// Bodies that do come wait, and are refused after too long; none gets 413.
	for _, conn := range conns[:50] {
		_, err := conn.Write(make([]byte, 2<<20))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, s.main.memory.Used(), int64(32<<20))
	refused := 0
	for _, conn := range conns[:50] {
		_, _ = conn.Write(make([]byte, 2<<20-4))
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		answer := make([]byte, 12)
		_, err := io.ReadFull(conn, answer)
		require.NoError(t, err)
		switch string(answer) {
		case "HTTP/1.1 429":
			refused++
		case "HTTP/1.1 400": // it is no CBOR
		default:
			require.Fail(t, string(answer))
		}
	}
	require.Positive(t, refused)
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return s.main.memory.Used() == 0 }, time.Minute, time.Millisecond)
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.NoError(t, <-done)
}

// One namespace may use half of the memory; then its callers are refused, while another's continue.
func TestNamespacesShareTheMemory(t *testing.T) {
	t.Parallel()
	f, other := newFakes(t), newFakes(t)
	largeRuns(f, 1<<20)
	largeRuns(other, 1<<20)
	s, err := New(Config{Listen: "127.0.0.1:0", Tokens: []string{"one"}, Memory: 16 << 20}, f.deps(),
		Namespace{Name: "two", Tokens: []string{"two"}, Deps: other.deps()})
	require.NoError(t, err)
	t.Cleanup(s.close)
	s.main.memory.Patience = time.Millisecond
	ask := func(token string) int {
		return call{method: http.MethodGet, target: "/v1/runs/" + runID, header: map[string]string{"Authorization": "Bearer " + token}}.do(t, s).Code
	}
	require.Equal(t, 200, ask("one"))
	full := s.main.memory.Hold()
	require.NoError(t, full.Take(t.Context(), 6<<20))
	require.Equal(t, 429, ask("one"))
	require.Equal(t, 200, ask("two"))
	full.Release()
	require.Equal(t, 200, ask("one"))
}

// An object that the service itself reads has a limited number of keys; a payload may have any number.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: req.RunID, Type: req.Type}}, nil
	}
	s := newServer(t, f)
	many := make(map[string]int, 20_000)
	for i := range 20_000 {
		many[fmt.Sprint("key_", i)] = i
	}
	event := func(data any) m {
		return m{"event": m{"eventType": "run_completed", "specVersion": 3, "eventData": data}}
	}
	status, body := post(t, s, "/v1/runs/"+runID+"/events", event(many))
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "event.eventData has more than 10000 keys")
	status, _ = post(t, s, "/v1/runs/"+runID+"/events", many)
	require.Equal(t, http.StatusBadRequest, status)
	status, body = post(t, s, "/v1/runs/"+runID+"/events", event(m{"output": many}))
	require.Equal(t, http.StatusOK, status, body)
	// Of unknown length, too.
	indefinite := []byte{0xbf}
	for key, value := range many {
		indefinite = append(append(indefinite, raw(t, key)...), raw(t, value)...)
	}
	status, body = post(t, s, "/v1/runs/"+runID+"/events", event(cbor.RawMessage(append(indefinite, 0xff))))
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "more than 10000 keys")
}

// A message that stops arriving ends its socket; a pause between messages does not.
func TestAMessageThatStandsStill(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	largeRuns(f, 10)
	s := newServer(t, f)
	s.Patience = 200 * time.Millisecond
	base, stop, done := running(t, s)
	quiet, _, err := openSocket(t, base, nil)
	require.NoError(t, err)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "GET /v1/calls HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", callsocket.Protocol)
	require.NoError(t, err)
	_, err = conn.Write([]byte{0x82, 0xfe, 0x10, 0x00, 0, 0, 0, 0, 1, 2, 3}) // of 4096 bytes
	require.NoError(t, err)
	_, err = io.ReadAll(conn) // to the end of the connection
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	k := &testSocket{t, quiet}
	k.send("good", bundleOf(1))
	_, status, _ := k.receive()
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, quiet.Close(websocket.StatusNormalClosure, ""))
	stop()
	require.NoError(t, <-done)
}

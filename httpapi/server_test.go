package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	var away error
	s := newServer(t, newFakes(t), func(c *Config, _ *Deps) {
		c.Ready = func(context.Context) error { return away }
	})
	status, body := get(t, s, "/readyz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{"status":"ready"}`, body)

	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("Redis at localhost:6379 does not answer"), "Redis at localhost:6379 does not answer"},
		{world.Wrap(world.CodeUnavailable, errors.New("dial tcp"), "Redis is away"), "Redis is away"},
	} {
		away = c.err
		w := call{method: http.MethodGet, target: "/readyz"}.do(t, s)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.Equal(t, c.want, errorOf(t, w.Body.String())["message"])
		status, _ = get(t, s, "/healthz") // the process is alive all the same
		require.Equal(t, http.StatusOK, status)
	}

	away = nil
	s.Drain()
	s.Drain()
	status, body = get(t, s, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "the service is shutting down", errorOf(t, body)["message"])
	status, body = get(t, s, "/v1/streams/s")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "the service is shutting down", errorOf(t, body)["message"])
}

// running starts a server and returns its address, a stop function, and what Run returns.
func running(t *testing.T, s *Server) (base string, stop context.CancelFunc, done chan error) {
	t.Helper()
	require.Empty(t, s.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	done = make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(cancel)
	select {
	case <-s.Listening():
	case err := <-done:
		require.NoError(t, err)
	}
	return "http://" + s.Addr(), cancel, done
}

// At shutdown a live read is cut without its end frame, so that the reader resumes at another replica; a call in
// progress is answered.
func TestDrain(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{}, nil }
	f.streams.read = func(ctx context.Context, _ string, _ int64, sink world.ChunkSink) error {
		if err := sink([]world.Chunk{{Data: []byte("one")}}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	inCall, answer := make(chan struct{}), make(chan struct{})
	f.store.getRun = func(ctx context.Context, id string, _ bool) (world.Run, error) {
		close(inCall)
		<-answer
		return world.Run{RunID: id}, ctx.Err()
	}
	s := newServer(t, f, func(c *Config, _ *Deps) { c.DrainGrace = time.Minute })
	base, stop, done := running(t, s)

	framed, bare := openStream(t, base+"/v1/streams/s", livestream.TypeFrames), openStream(t, base+"/v1/streams/s", "")
	type result struct {
		status int
		err    error
	}
	called := make(chan result, 1)
	go func() {
		transport := &http.Transport{DisableKeepAlives: true}
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, base+"/v1/runs/r", nil)
		if err != nil {
			called <- result{err: err}
			return
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			called <- result{err: err}
			return
		}
		called <- result{resp.StatusCode, resp.Body.Close()}
	}()
	<-inCall

	stop()
	body, err := io.ReadAll(framed.body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, frames("one"), body)
	body, err = io.ReadAll(bare.body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "one", string(body))
	require.True(t, s.IsDraining())

	close(answer)
	require.Equal(t, result{status: http.StatusOK}, <-called)
	require.NoError(t, <-done)
}

// A call that does not end within the grace period is cut, and Run still ends.
func TestDrainGraceEnds(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	inCall := make(chan struct{})
	f.store.getRun = func(ctx context.Context, _ string, _ bool) (world.Run, error) {
		close(inCall)
		<-ctx.Done()
		return world.Run{}, ctx.Err()
	}
	s := newServer(t, f, func(c *Config, _ *Deps) { c.DrainGrace = time.Millisecond })
	base, stop, done := running(t, s)
	go func() {
		transport := &http.Transport{DisableKeepAlives: true}
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, base+"/v1/runs/r", nil)
		if err != nil {
			return
		}
		if resp, err := transport.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-inCall
	stop()
	require.NoError(t, <-done)
}

func TestListenFails(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	s := newServer(t, newFakes(t), func(c *Config, _ *Deps) { c.Listen = taken.Addr().String() })
	err = s.Run(t.Context())
	require.ErrorContains(t, err, "cannot listen on "+taken.Addr().String())
}

// A panic during an answer cuts it; the client must not take a part for the whole.
func TestPanicAfterTheAnswerBegan(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t), func(c *Config, _ *Deps) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic("boom")
		})
	})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/metrics")
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
	}
	require.Error(t, err)
}

// Metrics are labelled with the pattern of the route, otherwise ids would create one series per run.
func TestRequestsAreObserved(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getRun = func(context.Context, string, bool) (world.Run, error) { return world.Run{}, world.RunNotFound("x") }
	var seen []string
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.Observe = func(method, route string, status int, _ time.Duration) {
			seen = append(seen, fmt.Sprintf("%s %q %d", method, route, status))
		}
	})
	for _, target := range []string{"/v1/runs/x", "/healthz", "/nowhere/x"} {
		_, _ = get(t, s, target)
	}
	require.Equal(t, []string{`GET "/v1/runs/:runId" 404`, `GET "/healthz" 200`, `GET "" 404`}, seen)
}

// For any method that a caller sends, and any status that an app answers to a webhook, there are few label values: each
// would be a series that is kept forever.
func TestWhatIsObservedIsBounded(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getHookByToken = func(string, bool) (world.Hook, error) { return world.Hook{RunID: runID}, nil }
	f.store.getRun = func(context.Context, string, bool) (world.Run, error) { return world.Run{RunID: runID}, nil }
	f.apps.list = func() ([]world.App, error) { return nil, nil }
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.Header.Get("X-Status"))
		w.WriteHeader(status)
	}))
	defer app.Close()
	seen := map[string]int{}
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.BaseURL = app.URL
		c.Observe = func(method, route string, status int, _ time.Duration) {
			seen[fmt.Sprintf("%s %q %d", method, route, status)]++
		}
	})
	for i := range 3000 {
		call{method: fmt.Sprintf("X%d", i), target: "/v1/runs"}.do(t, s)
	}
	for i := 600; i < 700; i++ {
		call{method: http.MethodPost, target: "/.well-known/workflow/v1/webhook/t", header: map[string]string{"X-Status": strconv.Itoa(i)}}.do(t, s)
	}
	require.Equal(t, map[string]int{`OTHER "/v1/runs" 405`: 3000, `POST "/.well-known/workflow/v1/webhook/:token" 0`: 100}, seen)
}

// The request line and the headers of a connection have a limit, so a caller without a token uses no more than that.
func TestHeadersHaveABound(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	base, stop, done := running(t, s)
	for _, head := range []string{strings.Repeat("M", 900_000) + " /healthz HTTP/1.1\r\n", "GET /healthz HTTP/1.1\r\nX: " + strings.Repeat("x", 900_000) + "\r\n"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		require.NoError(t, err)
		_, _ = io.WriteString(conn, head+"Host: x\r\n\r\n") // it may be cut while it is sent
		answer, _ := io.ReadAll(conn)
		require.NoError(t, conn.Close())
		require.NotContains(t, string(answer), "200 OK")
	}
	status, _ := get(t, s, "/healthz")
	require.Equal(t, http.StatusOK, status)
	stop()
	require.NoError(t, <-done)
}

// A call may take longer than its body may pause: the read deadline is removed once the body is read, otherwise it
// would cancel the call.
func TestReadDeadlineIsTakenOff(t *testing.T) {
	t.Parallel()
	server, client := net.Pipe()
	defer func() { require.NoError(t, client.Close()) }()
	conn := &deadlineConn{Conn: server}
	var during []time.Time
	f := newFakes(t)
	f.queue.enqueue = func(world.Message) (string, error) { during = conn.taken(); return "m", nil }
	s := newServer(t, f)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn.taken() // those of reading the head
		s.Handler().ServeHTTP(w, r)
	}), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- web.Serve(&oneConn{conn: conn, closed: make(chan struct{})}) }()
	const body = `{"queueName":"__wkf_step_x","message":1}`
	_, err := fmt.Fprintf(client, "POST /v1/queue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	answer, err := io.ReadAll(client)
	require.NoError(t, err)
	require.Contains(t, string(answer), `{"messageId":"m"}`)
	require.GreaterOrEqual(t, len(during), 2)
	require.False(t, during[0].IsZero(), "a body that stands still must be given up")
	require.True(t, during[len(during)-1].IsZero())
	require.NoError(t, web.Close())
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}

// deadlineConn records the read deadlines that are set.
type deadlineConn struct {
	net.Conn
	mu        sync.Mutex
	deadlines []time.Time
}

func (c *deadlineConn) SetReadDeadline(at time.Time) error {
	c.mu.Lock()
	c.deadlines = append(c.deadlines, at)
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(at)
}

// taken returns the deadlines since it was last called.
func (c *deadlineConn) taken() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.deadlines
	c.deadlines = nil
	return out
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

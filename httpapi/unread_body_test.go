package httpapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// An answer does not wait for a body that is not read. A caller that announces a body and never sends it gets the
// answer, and the connection is closed, with a token or without.
func TestUnreadBodiesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getHookByToken = func(token string, _ bool) (world.Hook, error) { return world.Hook{}, world.HookNotFound(token) }
	s := newServer(t, f, withTokens("secret"), func(c *Config, _ *Deps) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	})
	base, stop, done := running(t, s)
	for _, c := range []struct {
		line string
		want int
	}{
		{"GET /healthz", 200},
		{"GET /metrics", 200},
		{"GET /v1/runs", 401},
		{"POST /v1/queue", 401},
		{"PUT /v1/runs", 405},
		{"POST /nowhere", 404},
		{"POST /.well-known/workflow/v1/webhook/t", 404},
	} {
		for _, framing := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
			require.NoError(t, err)
			_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", c.line, framing)
			require.NoError(t, err)
			answer, err := io.ReadAll(conn) // to the end of the connection
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			require.Contains(t, string(answer), fmt.Sprintf("HTTP/1.1 %d ", c.want), "%s %s", c.line, framing)
		}
	}
	stop()
	require.NoError(t, <-done)
}

// A body that stops arriving is given up with an answer to its sender: the body of a call, and of a webhook that is
// passed on to the app.
func TestABodyThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer app.Close()
	f := newFakes(t)
	f.store.getHookByToken = func(string, bool) (world.Hook, error) { return world.Hook{RunID: runID}, nil }
	f.store.getRun = func(context.Context, string, bool) (world.Run, error) { return world.Run{RunID: runID}, nil }
	f.apps.list = func() ([]world.App, error) { return nil, nil }
	s := newServer(t, f, func(c *Config, _ *Deps) { c.BaseURL = app.URL })
	s.Patience = 50 * time.Millisecond
	base, stop, done := running(t, s)
	for path, want := range map[string]string{
		"/v1/queue": "HTTP/1.1 400 ", "/.well-known/workflow/v1/webhook/t": "HTTP/1.1 503 ",
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", path)
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err, path)
		require.NoError(t, conn.Close())
		require.Contains(t, string(answer), want, path)
	}
	stop()
	require.NoError(t, <-done)
}

// A connection whose bodies are read stays in use.
func TestReadBodiesKeepTheirConnection(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.queue.enqueue = func(world.Message) (string, error) { return "m", nil }
	s := newServer(t, f)
	base, stop, done := running(t, s)
	for range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/queue", strings.NewReader(`{"queueName":"__wkf_step_x","message":1}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", input.TypeJSON)
		resp, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.False(t, resp.Close)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.NoError(t, <-done)
}

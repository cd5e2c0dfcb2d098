package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/httpapi/internal/callerconn"
)

// Beyond the limit of connections, calls are answered 503 and health checks as usual, and each such connection is
// closed; far beyond the limit no connection is served. One log line says so.
func TestConnectionsAreCapped(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	largeRuns(f, 10)
	var log bytes.Buffer
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.MaxConnections = 3
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	})
	base, stop, done := running(t, s)
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		require.NoError(t, err)
		return conn
	}
	ask := func(conn net.Conn, path string) string {
		_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
		require.NoError(t, err)
		answer := make([]byte, 12)
		_, err = io.ReadFull(conn, answer)
		require.NoError(t, err)
		return string(answer[9:])
	}
	var within []net.Conn
	for range 3 {
		conn := dial()
		require.Equal(t, "200", ask(conn, "/v1/runs/"+runID))
		within = append(within, conn)
	}
	for path, want := range map[string]string{"/v1/runs/" + runID: "503", "/healthz": "200", "/readyz": "200", "/metrics": "200"} {
		conn := dial()
		require.Equal(t, want, ask(conn, path), path)
		_, err := io.Copy(io.Discard, conn) // to the end of the connection
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return s.connections.Connected() == 3 }, time.Minute, time.Millisecond)
	var extra []net.Conn
	require.Eventually(t, func() bool {
		if s.connections.Connected() < 3+callerconn.ExtraConns { // one that says nothing is closed after a while, so a slow machine makes some more
			if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://")); err == nil {
				extra = append(extra, conn)
			}
		}
		return s.connections.Connected() == 3+callerconn.ExtraConns
	}, time.Minute, time.Millisecond)
	conn := dial()
	n, _ := conn.Read(make([]byte, 1))
	require.Zero(t, n)
	require.NoError(t, conn.Close())
	for _, conn := range append(extra, within[0]) {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return s.connections.Connected() == 2 }, time.Minute, time.Millisecond)
	conn = dial()
	require.Equal(t, "200", ask(conn, "/v1/runs/"+runID))
	for _, conn := range append(within[1:], conn) {
		require.NoError(t, conn.Close())
	}
	stop()
	require.NoError(t, <-done)
	require.Equal(t, 1, strings.Count(log.String(), "too many connections"), log.String())
}

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// health runs `world-redis health` in a process of its own, with nothing in its environment but what is given.
func health(t *testing.T, environ []string, args ...string) (code int, line string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, append([]string{"health"}, args...)...) //nolint:gosec // the test binary itself
	cmd.Env = append([]string{beService + "=1"}, environ...)
	out, err := cmd.CombinedOutput()
	ended := new(exec.ExitError)
	if !errors.As(err, &ended) {
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(string(out), "\n"), "one line: %s", out)
	return cmd.ProcessState.ExitCode(), strings.TrimSpace(string(out))
}

// freeAddress is one that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// The health check of a container: the service listens on every address, there is no shell, and a proxy of the
// company's is in the environment.
func TestHealthOfAServiceInTheSameEnvironment(t *testing.T) {
	t.Parallel()
	base, _, stop := startService(t, "WORKFLOW_WORLD_LISTEN=0.0.0.0:0", "WORKFLOW_WORLD_TOKEN=a token of enough characters")
	u, err := url.Parse(base)
	require.NoError(t, err)
	dead := "http://" + freeAddress(t)
	for _, listen := range []string{"0.0.0.0:", "127.0.0.1:", ":", "localhost:"} {
		code, line := health(t, []string{"WORKFLOW_WORLD_LISTEN=" + listen + u.Port(), "HTTP_PROXY=" + dead, "http_proxy=" + dead, "WORKFLOW_WORLD_PROXY=" + dead})
		require.Equal(t, 0, code, line)
		require.Regexp(t, `^the service at http://(127\.0\.0\.1|localhost):`+u.Port()+` is ready$`, line)
	}
	code, line := health(t, nil, "--url", "http://127.0.0.1:"+u.Port()+"/")
	require.Equal(t, 0, code, line)
	require.NoError(t, stop())
	code, line = health(t, []string{"WORKFLOW_WORLD_LISTEN=0.0.0.0:" + u.Port()})
	require.Equal(t, 1, code)
	require.Regexp(t, `^world-redis: no world-redis answers at http://127\.0\.0\.1:`+u.Port()+`: .*connection refused$`, line)
}

// A service on IPv6 alone is found, too, where the machine has IPv6.
func TestHealthOfAServiceOnIPv6(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Log("this machine has no IPv6")
		return
	}
	ready := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}} //nolint:gosec // ends with the test
	ready.Start()
	defer ready.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	for _, listen := range []string{"[::]:", "[::1]:", ":"} {
		code, line := health(t, []string{"WORKFLOW_WORLD_LISTEN=" + listen + port})
		require.Equal(t, 0, code, line)
		require.Equal(t, "the service at http://[::1]:"+port+" is ready", line)
	}
}

func TestHealthSaysInOneLineWhatIsWrong(t *testing.T) {
	t.Parallel()
	answering := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	stopping := answering(http.StatusServiceUnavailable, `{"error":{"message":"the service is\nshutting down"}}`)
	for want, c := range map[string]struct{ listen, url string }{
		"the service at " + stopping + " is not ready: the service is shutting down":             {url: stopping},
		"/readyz answers 404 Not Found: is this a world-redis?":                                  {url: answering(http.StatusNotFound, "<html>\n<h1>no</h1>")},
		"/readyz answers 302 Found: is this a world-redis?":                                      {url: answering(http.StatusFound, "")},
		"context deadline exceeded (--timeout 300ms)":                                            {url: silent.URL},
		`the address "world-redis:8787" is not http(s)://host[:port]`:                            {url: "world-redis:8787"},
		"the address must have no user name and no password: none is needed":                     {url: "http://u:secret@127.0.0.1:1"},
		`WORKFLOW_WORLD_LISTEN: "8787" is not host:port: set --url`:                              {listen: "8787"},
		"WORKFLOW_WORLD_LISTEN is 127.0.0.1:0, so the port is another at every start: set --url": {listen: "127.0.0.1:0"},
	} {
		args := []string{"--timeout", "300ms"}
		if c.url != "" {
			args = append(args, "--url", c.url)
		}
		code, line := health(t, []string{"WORKFLOW_WORLD_LISTEN=" + c.listen}, args...)
		require.Equal(t, 1, code, line)
		require.Contains(t, line, want)
		require.NotContains(t, line, "secret")
	}
}

func TestHealthAsksWhereServeListens(t *testing.T) {
	t.Parallel()
	c, _, err := loadConfig(nil)
	require.NoError(t, err)
	require.Equal(t, defaultListen, c.Listen)
	urls, err := healthURLs("", "")
	require.NoError(t, err)
	require.Equal(t, []string{"http://" + c.Listen}, urls)
	_, err = checkHealth(context.Background(), "ftp://here")
	require.Error(t, err)
}

package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

func withTokens(tokens ...string) func(*Config, *Deps) {
	return func(c *Config, _ *Deps) { c.Tokens = tokens }
}

func TestTokens(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.apps.list = func() ([]world.App, error) { return nil, nil }
	s := newServer(t, f, withTokens("old-token", "new-token"))
	cases := map[string]int{
		"Bearer old-token":  200,
		"Bearer new-token":  200,
		"bearer new-token ": 200,
		"":                  401,
		"Bearer":            401,
		"Bearer ":           401,
		"Bearer new-toke":   401,
		"Bearer new-token2": 401,
		"Basic new-token":   401,
		"new-token":         401,
	}
	for header, want := range cases {
		w := call{method: http.MethodGet, target: "/v1/apps", header: map[string]string{"Authorization": header}}.do(t, s)
		require.Equal(t, want, w.Code, header)
		if want == http.StatusUnauthorized {
			require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
			require.Equal(t, "unauthorized", errorOf(t, w.Body.String())["code"])
		}
	}
}

// Every route of the table except the open ones checks the token before it does anything: no fake has a function.
func TestEveryRouteAsksForTheToken(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t), withTokens("secret"))
	open := map[string]bool{
		"/": true, "/healthz": true, "/readyz": true, "/metrics": true, "/openapi.json": true, "/.well-known/workflow/v1/webhook/{token}": true,
		"/ns/{namespace}/.well-known/workflow/v1/webhook/{token}": true,
	}
	for _, r := range s.routes {
		require.Equal(t, open[r.path], r.open, r.path)
		if !r.open {
			w := call{method: r.method, target: r.path, body: "{}"}.do(t, s)
			require.Equal(t, http.StatusUnauthorized, w.Code, r.path)
		}
	}
}

// A service without tokens listens on loopback, which web pages in a browser can reach, too.
func TestForeignWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.close = func(world.StreamClose) error { return nil }
	s := newServer(t, f)
	closeWith := func(header map[string]string) int {
		return call{method: http.MethodPost, target: "/v1/runs/r/streams/s/close", header: header}.do(t, s).Code
	}
	require.Equal(t, http.StatusOK, closeWith(nil))
	require.Equal(t, http.StatusUnauthorized, closeWith(map[string]string{"Origin": "https://evil.example"}))
	require.Equal(t, http.StatusUnauthorized, closeWith(map[string]string{"Sec-Fetch-Site": "cross-site"}))
	require.Equal(t, http.StatusOK, closeWith(map[string]string{"Sec-Fetch-Site": "same-origin"}))
}

// A page whose name resolves to a loopback address is distinguished from a local caller by the Host.
func TestForeignHostsAreRefusedWithoutAToken(t *testing.T) {
	t.Parallel()
	status := func(s *Server, host, method, target string) (int, string) {
		w := call{method: method, target: target, host: host, body: "{}"}.do(t, s)
		return w.Code, w.Body.String()
	}
	open := newServer(t, newFakes(t))
	for _, host := range []string{"evil.example", "evil.example:8787", "localhost.evil.example", "192.168.1.5", "0.0.0.0:8787", "[fe80::1]:1", "127.0.0.1.evil.example"} {
		for _, r := range open.routes {
			if !r.anyHost { // no fake has a function: nothing is done
				code, body := status(open, host, r.method, r.path)
				require.Equal(t, http.StatusForbidden, code, "%s %s %s", host, r.method, r.path)
				require.Equal(t, "forbidden", errorOf(t, body)["code"])
				require.Contains(t, errorOf(t, body)["message"], "set WORKFLOW_WORLD_TOKEN")
			}
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:8787", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8787", "::1"} {
		code, _ := status(open, host, http.MethodGet, "/healthz")
		require.Equal(t, http.StatusOK, code, host)
	}
	f := newFakes(t)
	f.store.getHookByToken = func(token string, _ bool) (world.Hook, error) { return world.Hook{}, world.HookNotFound(token) }
	code, _ := status(newServer(t, f), "abc.tunnel.example", http.MethodPost, "/.well-known/workflow/v1/webhook/t")
	require.Equal(t, http.StatusNotFound, code, "a webhook may come by the name of a tunnel")
	code, _ = status(newServer(t, newFakes(t), withTokens("secret")), "evil.example", http.MethodGet, "/healthz")
	require.Equal(t, http.StatusOK, code, "with a token the name does not matter")
}

func TestListenNeedsATokenBeyondLoopback(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:8787", "localhost:0", "[::1]:80", "127.1.2.3:1"} {
		require.NoError(t, checkListen(address, nil), address)
	}
	for _, address := range []string{"0.0.0.0:8787", ":8787", "[::]:8787", "192.168.1.5:80", "example.com:80"} {
		require.EqualError(t, checkListen(address, nil),
			"refusing to listen on "+address+" without a token: set WORKFLOW_WORLD_TOKEN, or listen on 127.0.0.1")
		require.NoError(t, checkListen(address, []string{"0123456789abcdef", "another token that is long"}), address)
		require.EqualError(t, checkListen(address, []string{"0123456789abcdef", "0123456789abcdé"}),
			"refusing to listen on "+address+" with a token of 15 characters: it needs at least 16; `openssl rand -hex 24` makes one")
	}
	require.NoError(t, checkListen("127.0.0.1:1", []string{"t"}), "on loopback any token will do")
	require.Error(t, checkListen("8787", nil))
	require.Error(t, checkListen("127.0.0.1:1", []string{"a", ""}))

	_, err := New(Config{Listen: "0.0.0.0:0"}, newFakes(t).deps())
	require.ErrorContains(t, err, "WORKFLOW_WORLD_TOKEN")
	_, err = New(Config{Listen: "127.0.0.1:0"}, Deps{})
	require.ErrorContains(t, err, "needs a Store")
	_, err = New(Config{Listen: "127.0.0.1:0", MaxBody: -1}, newFakes(t).deps())
	require.ErrorContains(t, err, "body limit")
}

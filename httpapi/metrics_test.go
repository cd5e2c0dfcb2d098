package httpapi

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	apiToken     = "token of the API, long"
	metricsToken = "token of the metrics"
)

func withMetrics(change func(*Config)) func(*Config, *Deps) {
	return func(c *Config, _ *Deps) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
		change(c)
	}
}

// At the address of the API, only local callers and holders of a metrics token may read the metrics.
func TestWhoMayReadMetrics(t *testing.T) {
	t.Parallel()
	status, body := get(t, newServer(t, newFakes(t)), "/metrics")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "this service has no metrics", errorOf(t, body)["message"])

	local := func(*Config) {}
	localWithToken := func(c *Config) { c.Tokens = []string{"t"} }
	public := func(c *Config) { c.Listen, c.Tokens = "0.0.0.0:0", []string{apiToken} }
	guarded := func(c *Config) {
		public(c)
		c.MetricsTokens = []string{"an older token of it", metricsToken}
	}
	localGuarded := func(c *Config) { c.MetricsTokens = []string{"short"} }
	bearer := func(token string) string { return "Bearer " + token }
	for name, c := range map[string]struct {
		config              func(*Config)
		host, authorization string
		status              int
	}{
		"on loopback":                            {local, "127.0.0.1:8787", "", http.StatusOK},
		"on loopback, with an API token":         {localWithToken, "localhost:8787", "", http.StatusOK},
		"through a proxy on this machine":        {localWithToken, "workflows.example", "", http.StatusForbidden},
		"through it, with the API token":         {localWithToken, "workflows.example", bearer("t"), http.StatusForbidden},
		"from outside":                           {public, "workflows.example", "", http.StatusForbidden},
		"from outside, as if it were loopback":   {public, "127.0.0.1", "", http.StatusForbidden},
		"from outside, with the API token":       {public, "workflows.example", bearer(apiToken), http.StatusForbidden},
		"with the token":                         {guarded, "workflows.example", bearer(metricsToken), http.StatusOK},
		"with the other one":                     {guarded, "workflows.example", bearer("an older token of it"), http.StatusOK},
		"without the token":                      {guarded, "workflows.example", "", http.StatusUnauthorized},
		"with a part of it":                      {guarded, "workflows.example", bearer(metricsToken[:19]), http.StatusUnauthorized},
		"with the token of the API":              {guarded, "workflows.example", bearer(apiToken), http.StatusUnauthorized},
		"with a token on loopback, but not this": {localGuarded, "127.0.0.1", "", http.StatusUnauthorized},
		"with a token on loopback":               {localGuarded, "127.0.0.1", bearer("short"), http.StatusOK},
	} {
		w := call{method: http.MethodGet, target: "/metrics", host: c.host, header: map[string]string{"Authorization": c.authorization}}.do(t, newServer(t, newFakes(t), withMetrics(c.config)))
		require.Equal(t, c.status, w.Code, name)
		switch c.status {
		case http.StatusOK:
			require.Equal(t, "up 1\n", w.Body.String(), name)
		case http.StatusUnauthorized:
			require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"), name)
			require.Contains(t, errorOf(t, w.Body.String())["message"], "WORKFLOW_WORLD_METRICS_TOKEN", name)
		default:
			require.Contains(t, errorOf(t, w.Body.String())["message"], "set WORKFLOW_WORLD_METRICS_TOKEN, or set WORKFLOW_WORLD_METRICS_LISTEN", name)
		}
	}
	// The metrics token is valid for nothing but the metrics.
	w := call{method: http.MethodGet, target: "/v1/apps", header: map[string]string{"Authorization": bearer(metricsToken)}}.do(t, newServer(t, newFakes(t), withMetrics(guarded)))
	require.Equal(t, http.StatusUnauthorized, w.Code)
}

// A separate metrics address serves only the metrics, and the API's address no longer does.
func TestMetricsAtAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config             func(*Config)
		local, named, held int // statuses: by a loopback name, by another, with the token
	}{
		"loopback":             {func(c *Config) { c.MetricsListen = "127.0.0.1:0" }, 200, 403, 200},
		"loopback and a token": {func(c *Config) { c.MetricsListen, c.MetricsTokens = "127.0.0.1:0", []string{metricsToken} }, 401, 401, 200},
		"all addresses":        {func(c *Config) { c.MetricsListen = "0.0.0.0:0" }, 200, 200, 200},
		"all and a token":      {func(c *Config) { c.MetricsListen, c.MetricsTokens = "0.0.0.0:0", []string{metricsToken} }, 401, 401, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, newFakes(t), withMetrics(c.config))
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- s.Run(ctx) }()
			for listening := false; !listening; { // who asks before that must not meet the one who writes it
				select {
				case <-s.Listening():
					listening = true
				default:
					_ = s.MetricsAddr()
				}
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			ask := func(addr, host, path, token string) (int, string) {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
				require.NoError(t, err)
				req.Host = host
				if token != "" {
					req.Header.Set("Authorization", "Bearer "+token)
				}
				answer, err := client.Do(req)
				require.NoError(t, err)
				body, err := io.ReadAll(answer.Body)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				return answer.StatusCode, string(body)
			}
			for host, want := range map[string]int{"localhost": c.local, "metrics.example": c.named} {
				status, body := ask(s.MetricsAddr(), host, "/metrics", "")
				require.Equal(t, want, status, host)
				if want == http.StatusOK {
					require.Equal(t, "up 1\n", body)
				} else {
					require.Contains(t, body, "WORKFLOW_WORLD_METRICS_TOKEN")
				}
			}
			status, _ := ask(s.MetricsAddr(), "localhost", "/metrics", metricsToken)
			require.Equal(t, c.held, status)
			status, _ = ask(s.MetricsAddr(), "localhost", "/v1/apps", metricsToken)
			require.Equal(t, http.StatusNotFound, status)
			status, body := ask(s.Addr(), "localhost", "/metrics", metricsToken)
			require.Equal(t, http.StatusNotFound, status)
			require.Contains(t, errorOf(t, body)["message"], "WORKFLOW_WORLD_METRICS_LISTEN")
			stop()
			require.NoError(t, <-done)
		})
	}
}

func TestMetricsSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		"refusing to listen on 0.0.0.0:1 with a token of 5 characters in WORKFLOW_WORLD_METRICS_TOKEN: it needs at least 16": {Listen: "0.0.0.0:1", Tokens: []string{apiToken}, MetricsTokens: []string{"short"}},
		"refusing to listen on :2 with a token of 5 characters in WORKFLOW_WORLD_METRICS_TOKEN":                              {Listen: "127.0.0.1:1", MetricsListen: ":2", MetricsTokens: []string{"short"}},
		"is also one of the API":                         {Listen: "127.0.0.1:1", Tokens: []string{"a", "b"}, MetricsTokens: []string{"b"}},
		`WORKFLOW_WORLD_METRICS_LISTEN is "9787", which`: {Listen: "127.0.0.1:1", MetricsListen: "9787"},
	} {
		_, err := New(c, newFakes(t).deps())
		require.ErrorContains(t, err, want)
	}
	// On loopback, a token of any length is accepted.
	s, err := New(Config{Listen: "0.0.0.0:1", Tokens: []string{apiToken}, MetricsListen: "127.0.0.1:2", MetricsTokens: []string{"short"}}, newFakes(t).deps())
	require.NoError(t, err)
	s.close()
	// The service does not start if the address is in use.
	taken := newServer(t, newFakes(t), withMetrics(func(*Config) {}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- taken.Run(ctx) }()
	<-taken.Listening()
	require.ErrorContains(t, newServer(t, newFakes(t), withMetrics(func(c *Config) { c.MetricsListen = taken.Addr() })).Run(ctx), "cannot serve metrics on "+taken.Addr())
	stop()
	require.NoError(t, <-done)
}

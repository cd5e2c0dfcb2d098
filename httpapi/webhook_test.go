package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

const wildToken = "a/b ü😀?#%2F"

var wildPath = "/.well-known/workflow/v1/webhook/a%2Fb%20%C3%BC%F0%9F%98%80%3F%23%252F"

// seen is what an app got of a webhook request.
type seen struct {
	method, uri, body, host string
	header                  http.Header
}

// webhookApp is an app that records one request and answers in its own way.
func webhookApp(t *testing.T) (base string, got chan seen) {
	t.Helper()
	got = make(chan seen, 1)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		got <- seen{r.Method, r.RequestURI, string(body), r.Host, r.Header}
		w.Header().Set("X-App", "yes")
		w.Header().Set("Location", "http://elsewhere.invalid/")
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, "from the app")
	}))
	t.Cleanup(app.Close)
	return app.URL, got
}

func webhookFakes(t *testing.T, apps ...world.App) *fakes {
	f := newFakes(t)
	f.store.getHookByToken = func(token string, none bool) (world.Hook, error) {
		if token != wildToken || !none {
			return world.Hook{}, world.HookNotFound(token)
		}
		return world.Hook{RunID: runID, Token: token}, nil
	}
	f.store.getRun = func(_ context.Context, id string, none bool) (world.Run, error) {
		require.Equal(t, runID, id)
		require.True(t, none)
		return world.Run{RunID: id, DeploymentID: "dpl_2"}, nil
	}
	f.apps.list = func() ([]world.App, error) { return apps, nil }
	return f
}

// The app sees the request as it was made, and the caller sees the app's answer: no
// redirect is followed. The service's own token is not shown to the app.
func TestWebhookIsPassedOn(t *testing.T) {
	t.Parallel()
	base, got := webhookApp(t)
	apps := []world.App{{BaseURL: "http://127.0.0.1:1", DeploymentID: "dpl_3"}, {BaseURL: base + "/under", DeploymentID: "dpl_2"}}
	s := newServer(t, webhookFakes(t, apps...), withTokens("secret"))
	for _, c := range []struct{ sent, shown string }{{"Bearer users-own", "Bearer users-own"}, {"Bearer secret", ""}, {"", ""}} {
		w := call{method: http.MethodPut, target: wildPath + "?q=1&q=%2F", body: strings.NewReader("payload"), header: map[string]string{
			"Content-Type": "text/x-any", "Authorization": c.sent, "X-Custom": "v", "Connection": "X-Hop", "X-Hop": "h", "X-Forwarded-For": "203.0.113.9",
		}}.do(t, s)
		require.Equal(t, http.StatusFound, w.Code)
		require.Equal(t, "from the app", w.Body.String())
		require.Equal(t, "yes", w.Header().Get("X-App"))
		require.Equal(t, "http://elsewhere.invalid/", w.Header().Get("Location"))
		r := <-got
		require.Equal(t, http.MethodPut, r.method)
		require.Equal(t, "/under"+wildPath+"?q=1&q=%2F", r.uri)
		require.Equal(t, "payload", r.body)
		require.Equal(t, strings.TrimPrefix(base, "http://"), r.host)
		require.Equal(t, "text/x-any", r.header.Get("Content-Type"))
		require.Equal(t, c.shown, r.header.Get("Authorization"))
		require.Equal(t, "v", r.header.Get("X-Custom"))
		require.Empty(t, r.header.Get("X-Hop"))
		require.Equal(t, "203.0.113.9, 192.0.2.1", r.header.Get("X-Forwarded-For"))
		require.Equal(t, "127.0.0.1:8787", r.header.Get("X-Forwarded-Host"))
	}
}

func TestWebhookTakesEveryMethod(t *testing.T) {
	t.Parallel()
	base, got := webhookApp(t)
	s := newServer(t, webhookFakes(t, world.App{BaseURL: base, DeploymentID: "another"})) // the newest there is
	for _, method := range webhookMethods {
		w := call{method: method, target: wildPath}.do(t, s)
		require.Equal(t, http.StatusFound, w.Code, method)
		require.Equal(t, method, (<-got).method)
	}
}

func TestWebhookRefusals(t *testing.T) {
	t.Parallel()
	s := newServer(t, webhookFakes(t))
	status, body := get(t, s, "/.well-known/workflow/v1/webhook/unknown")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "hook_not_found", errorOf(t, body)["code"])

	status, body = get(t, s, wildPath)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "no app is registered to take this webhook; start the app, or set WORKFLOW_BASE_URL", errorOf(t, body)["message"])

	status, _ = get(t, s, "/.well-known/workflow/v1/webhook/")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = get(t, newServer(t, newFakes(t)), "/.well-known/workflow/v1/webhook/"+strings.Repeat("t", 4097))
	require.Equal(t, http.StatusBadRequest, status)
}

func TestWhichAppGetsAWebhook(t *testing.T) {
	t.Parallel()
	apps := []world.App{{BaseURL: "new", DeploymentID: "d2"}, {BaseURL: "newer of d1", DeploymentID: "d1"}, {BaseURL: "older of d1", DeploymentID: "d1"}}
	require.Equal(t, "newer of d1", chooseApp(apps, "d1", "configured"))
	require.Equal(t, "new", chooseApp(apps, "gone", "configured"))
	require.Equal(t, "configured", chooseApp(nil, "d1", "configured"))
	require.Empty(t, chooseApp(nil, "d1", ""))
}

// An app that never registers is reached by the configured address.
func TestWebhookGoesToTheConfiguredApp(t *testing.T) {
	t.Parallel()
	base, got := webhookApp(t)
	s := newServer(t, webhookFakes(t), func(c *Config, _ *Deps) { c.BaseURL = base + "/" })
	w := call{method: http.MethodGet, target: wildPath}.do(t, s)
	require.Equal(t, http.StatusFound, w.Code)
	require.Equal(t, wildPath, (<-got).uri)
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The caller of a public webhook learns that the app is away, not where it lives.
func TestWebhookWhenTheAppIsAway(t *testing.T) {
	t.Parallel()
	f := webhookFakes(t, world.App{BaseURL: "http://internal.example:1", DeploymentID: "dpl_2"})
	s := newServer(t, f, func(_ *Config, d *Deps) {
		d.Webhook = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("dial internal.example") })
	})
	status, body := get(t, s, wildPath)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, m{
		"name": "WorkflowWorldError", "status": int64(503), "code": "unavailable", "retryAfter": int64(1),
		"message": "the app that owns this hook could not be reached; try again",
	}, errorOf(t, body))
}

func TestWebhookBodyLimit(t *testing.T) {
	t.Parallel()
	f := webhookFakes(t, world.App{BaseURL: "http://app.example", DeploymentID: "dpl_2"})
	s := newServer(t, f, func(c *Config, d *Deps) {
		c.MaxBody = 10
		d.Webhook = roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.ReadAll(r.Body)
			return nil, err
		})
	})
	w := call{method: http.MethodPost, target: wildPath, body: strings.NewReader("eleven byte"), header: map[string]string{"Accept": typeJSON}}.do(t, s)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Contains(t, errorOf(t, w.Body.String())["message"], "the body has 11 bytes, the limit is 10 ")
}

package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

const wildToken = "a/b ü😀?#%2F"

var wildPath = "/.well-known/workflow/v1/webhook/a%2Fb%20%C3%BC%F0%9F%98%80%3F%23%252F"

// seen is the webhook request that an app got.
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

// The app gets the request as it was made, and the caller gets the app's answer: no redirect is followed. The app does
// not get the service's own token.
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

// An app that never registers is reached at the configured address.
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

// The caller of a public webhook learns that the app is away, but not its address.
func TestWebhookWhenTheAppIsAway(t *testing.T) {
	t.Parallel()
	f := webhookFakes(t, world.App{BaseURL: "http://internal.example:1", DeploymentID: "dpl_2"})
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.Webhook = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("dial internal.example") })
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
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.MaxBody = 10
		c.Webhook = roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.ReadAll(r.Body)
			return nil, err
		})
	})
	w := call{method: http.MethodPost, target: wildPath, body: strings.NewReader("eleven byte"), header: map[string]string{"Accept": input.TypeJSON}}.do(t, s)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Contains(t, errorOf(t, w.Body.String())["message"], "the body has 11 bytes, the limit is 10 ")
}

// A webhook cannot become a connection to the app: neither the caller nor the app can upgrade it.
func TestWebhookIsNoTunnel(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	const (
		switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: any\r\n\r\n"
		bare      = "HTTP/1.1 101 Switching Protocols\r\n\r\n"
		empty     = "HTTP/1.1 204 No Content\r\n\r\n"
	)
	want := map[string]int{switching: http.StatusServiceUnavailable, bare: http.StatusServiceUnavailable, empty: http.StatusNoContent}
	for story, answer := range map[string]string{
		"an app that agrees": switching, "an app that does so unasked": bare, "an app that knows better": empty,
	} {
		app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			}
		}))
		front := httptest.NewServer(newServer(t, webhookFakes(t, world.App{BaseURL: app.URL, DeploymentID: "dpl_2"})).Handler())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+wildPath, http.NoBody)
		require.NoError(t, err)
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"any"}}
		res, err := front.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		seen := <-got
		require.NotContains(t, seen, "Upgrade", story)
		require.NotContains(t, seen, "Connection", story)
		require.Equal(t, want[answer], res.StatusCode, story)
		front.Close()
		app.Close()
	}
}

// An app's answer to a webhook is passed back up to the limit for bodies.
func TestWebhookAnswerLimit(t *testing.T) {
	t.Parallel()
	answer := &http.Response{StatusCode: http.StatusOK}
	f := webhookFakes(t, world.App{BaseURL: "http://app.example", DeploymentID: "dpl_2"})
	s := newServer(t, f, func(c *Config, _ *Deps) {
		c.MaxBody = 10
		c.Webhook = roundTrip(func(r *http.Request) (*http.Response, error) {
			answer.Request, answer.Header = r, http.Header{}
			return answer, nil
		})
	})
	ask := func(method, body string, length int64) *httptest.ResponseRecorder {
		answer.Body, answer.ContentLength = io.NopCloser(strings.NewReader(body)), length
		return call{method: method, target: wildPath, header: map[string]string{"Accept": input.TypeJSON}}.do(t, s)
	}
	w := ask(http.MethodGet, "ten bytes.", 10)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "ten bytes.", w.Body.String())
	require.Equal(t, http.StatusOK, ask(http.MethodHead, "", 11).Code, "nothing comes")
	w = ask(http.MethodGet, "eleven byte", 11)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, errorOf(t, w.Body.String())["message"], "the app's answer to the webhook has 11 bytes, the limit is 10 (WORKFLOW_WORLD_MAX_BODY)")
	w = ask(http.MethodGet, strings.Repeat("eleven byte", 1000), -1)
	require.LessOrEqual(t, w.Body.Len(), 10)
}

// refusedDialError is the error of a connection that the service may not make.
type refusedDialError struct{}

func (refusedDialError) Error() string {
	return "this service does not connect to 10.0.0.1: it is secret"
}
func (refusedDialError) DialRefused() bool { return true }

// An app to which the service does not connect gets no webhook; the caller does not learn its address.
func TestWebhookToAnAppThatIsNotCalled(t *testing.T) {
	t.Parallel()
	refused := world.App{BaseURL: "http://127.0.0.1:1", DeploymentID: "dpl_2", Alive: true, Refused: "it is secret"}
	base, got := webhookApp(t)
	s := newServer(t, webhookFakes(t, refused, world.App{BaseURL: base, DeploymentID: "dpl_3"}))
	require.Equal(t, http.StatusFound, call{method: http.MethodPost, target: wildPath}.do(t, s).Code, "another one may have taken over")
	<-got
	status, body := get(t, newServer(t, webhookFakes(t, refused)), wildPath)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, errorOf(t, body)["message"], "this service does not connect to any app that is registered to take this webhook")
	require.NotContains(t, body, "secret")

	f := webhookFakes(t, world.App{BaseURL: "http://app.example:1", DeploymentID: "dpl_2"})
	var dialled []string
	s = newServer(t, f, func(c *Config, _ *Deps) {
		c.AppDial = func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, refusedDialError{}
		}
	})
	status, body = get(t, s, wildPath)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "this service does not connect to the app that owns this hook; its log says why", errorOf(t, body)["message"])
	require.Equal(t, []string{"app.example:1"}, dialled)
}

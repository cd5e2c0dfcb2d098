package embedded_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/redistest"
)

func answering(status int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // none by guessing
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func with(header map[string]string, name, value string) map[string]string {
	out := map[string]string{name: value}
	for k, v := range header {
		out[k] = v
	}
	return out
}

// An answer made by a proxy in front of the app is not charged to the app; the app's own answer is, also if it comes
// through a proxy that marks what it passes on.
func TestAnswersOfProxiesInFrontOfTheApp(t *testing.T) {
	t.Parallel()
	html := typed("text/html")
	ours := with(json(), "X-World-Redis-Client", "1")
	for name, c := range map[string]struct {
		status  int
		header  map[string]string
		body    string
		between bool
		reason  string
	}{
		"nginx without an app":      {502, html, "<html><center><h1>502 Bad Gateway</h1></center><hr><center>nginx/1.25.3</center></html>", true, "does the app run?"},
		"no body":                   {502, nil, "", true, "does the app run?"},
		"a proxy's own JSON":        {502, json(), `{"error":"upstream"}`, true, "does the app run?"},
		"nginx, app too slow":       {504, html, "<html><h1>504 Gateway Time-out</h1></html>", true, "longer time limit than the longest step"},
		"HAProxy without an app":    {503, html, "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>", true, "does the app run?"},
		"Envoy without an app":      {503, typed("text/plain"), "upstream connect error or disconnect/reset before headers", true, "does the app run?"},
		"a proxy that says so":      {503, map[string]string{"Via": "1.1 proxy"}, "", true, "does the app run?"},
		"a proxy that says why":     {503, map[string]string{"Proxy-Status": "edge; error=connection_refused"}, "", true, "does the app run?"},
		"credentials":               {407, map[string]string{"Proxy-Authenticate": "Basic"}, "", true, "requires credentials"},
		"the app is busy":           {503, with(typed("text/plain"), "Retry-After", "7"), "busy", false, "failed"},
		"the app, through a proxy":  {503, with(ours, "Via", "1.1 proxy"), `{"error":"x"}`, false, "failed"},
		"the app's 502":             {502, ours, `{"error":"x"}`, false, "failed"},
		"the app failed":            {500, with(json(), "Via", "1.1 proxy"), `{"error":"x"}`, false, "failed"},
		"the app has no such route": {404, with(html, "Via", "1.1 proxy"), "<h1>404</h1>", false, "the workflow routes do not exist there"},
		"the app, under a web page": {500, html, "<h1>oops</h1>", false, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newStubApp(t, answering(c.status, c.header, c.body))
			out := newForwarder(t).Deliver(t.Context(), deliveryTo(app.URL))
			require.Contains(t, out.Reason, fmt.Sprintf("POST %s/.well-known/workflow/v1/step answered %d", app.URL, c.status))
			require.Contains(t, out.Reason, c.reason)
			require.Equal(t, c.between, out.Between)
			require.Equal(t, c.status, out.Status)
			want := world.Failed
			if c.between {
				want = world.Unreachable
			}
			require.Equal(t, want, out.Verdict)
			require.Equal(t, c.status != 407, out.Sent)
		})
	}
}

// throughProxy is a forwarder whose requests all go through a proxy.
func throughProxy(t *testing.T, address string) *embedded.Forwarder {
	t.Helper()
	proxy, err := url.Parse(address)
	require.NoError(t, err)
	f := embedded.New(embedded.Config{Proxy: http.ProxyURL(proxy)})
	t.Cleanup(f.Close)
	return f
}

// With an outgoing proxy, every answer that is not the app's own is the proxy's: it is not charged, and the reason
// names the proxy, without its password.
func TestAnswersThroughAProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		verdict world.Verdict
		sent    bool
		reason  string
	}{
		"done":                 {acknowledge, world.Done, true, ""},
		"refused by the app":   {answering(500, with(json(), "X-World-Redis-Client", "1"), `{"error":"x"}`), world.Failed, true, "failed"},
		"by an older client":   {answering(500, json(), `{"error":"x"}`), world.Failed, true, "failed"},
		"a web page":           {answering(200, typed("text/html"), "<h1>Log in</h1>"), world.Unreachable, false, "not from the app's handler"},
		"not found":            {answering(404, nil, "no such host"), world.Unreachable, false, "not from the app's handler"},
		"forbidden":            {answering(403, json(), `{"error":"blocked"}`), world.Unreachable, false, "not from the app's handler"},
		"credentials":          {answering(407, nil, ""), world.Unreachable, false, "http://user:password@host:port"},
		"the app is not there": {answering(503, typed("text/html"), "<h1>sorry</h1>"), world.Unreachable, true, "not from the app's handler"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := newStubApp(t, c.answer)
			u, err := url.Parse(proxy.URL)
			require.NoError(t, err)
			out := throughProxy(t, "http://user:secret@"+u.Host).Deliver(t.Context(), deliveryTo("http://app.invalid/base"))
			require.Equal(t, c.verdict, out.Verdict, out.Reason)
			require.Equal(t, c.sent, out.Sent)
			require.Equal(t, c.verdict == world.Unreachable, out.Between)
			require.Len(t, proxy.got(), 1)
			require.Equal(t, "/base/.well-known/workflow/v1/step", proxy.got()[0].path)
			require.NotContains(t, out.Reason, "secret")
			if c.verdict != world.Done {
				require.Contains(t, out.Reason, "POST http://app.invalid/base/.well-known/workflow/v1/step through the proxy http://user:xxxxx@"+u.Host+" answered")
				require.Contains(t, out.Reason, c.reason)
			}
		})
	}
}

// A proxy that is not there, or that does not connect to an https app, is not the app's fault either.
func TestProxyThatBringsAboutNoConnection(t *testing.T) {
	t.Parallel()
	nobody := redistest.Nobody(t)
	out := throughProxy(t, "http://"+nobody).Deliver(t.Context(), deliveryTo("http://app.invalid"))
	require.Equal(t, world.Unreachable, out.Verdict)
	require.False(t, out.Sent)
	require.Contains(t, out.Reason, "through the proxy http://"+nobody)
	require.Contains(t, out.Reason, "the proxy cannot be reached; is WORKFLOW_WORLD_PROXY its address?")

	refusing := httptest.NewServer(answering(403, nil, ""))
	defer refusing.Close()
	f := throughProxy(t, refusing.URL)
	out = f.Deliver(t.Context(), deliveryTo("https://app.invalid"))
	require.Equal(t, world.Unreachable, out.Verdict)
	require.False(t, out.Sent)
	require.Contains(t, out.Reason, "Forbidden: the proxy did not connect the service to the app")

	require.ErrorContains(t, f.Check(t.Context(), "http://app.invalid"), "through the proxy "+refusing.URL+" answered 403")
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The environment names an outgoing proxy. Deliveries, address checks and commands do not use it unless the setting
// says so; the log says which way they go.
func TestProxyOfTheEnvironmentIsNotUsedUnasked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "unknown host", http.StatusNotFound)
	}))
	t.Cleanup(proxy.Close)
	_, environ := redisOf(t)
	environ = append(environ, "HTTP_PROXY="+proxy.URL, "http_proxy=", "NO_PROXY=", "no_proxy=", "WORKFLOW_BASE_URL=http://app.invalid")
	waits := func(base, runID string, reason *regexp.Regexp) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, text := get(t, base+"/v1/runs/"+runID+"/messages")
			return reason.MatchString(text) && strings.Contains(text, `"failed":0`)
		}, time.Minute, 10*time.Millisecond, reason.String())
	}

	p := startProcess(t, environ...)
	runID := newRun(t, p.base, "")
	post(t, p.base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":"step_1"}}`, runID))
	waits(p.base, runID, regexp.MustCompile(`POST http://app.invalid/.well-known/workflow/v1/step: .*the name of the app's host cannot be resolved`))
	require.Zero(t, asked.Load())
	require.NotNil(t, p.out.Find(regexp.MustCompile(`use no proxy, although the environment names one.*WORKFLOW_WORLD_PROXY=env.*HTTP_PROXY=`+regexp.QuoteMeta(proxy.URL))))
	p.kill()

	p = startProcess(t, append(environ, "WORKFLOW_WORLD_PROXY=env")...)
	waits(p.base, runID, regexp.MustCompile(`POST http://app.invalid/.well-known/workflow/v1/step through the proxy `+regexp.QuoteMeta(proxy.URL)+` answered 404 .*unknown host`))
	require.NotNil(t, p.out.Find(regexp.MustCompile(`requests to apps use an HTTP proxy.*HTTP_PROXY=`+regexp.QuoteMeta(proxy.URL))))
}

// With a configured proxy the service reaches apps through it: deliveries, webhooks and address checks.
func TestDeliveriesAndWebhooksTakeTheProxy(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 100)
	proxy := httptest.NewServer(healthy(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	t.Cleanup(proxy.Close)
	_, environ := redisOf(t)
	base, _, stop := startService(t, append(environ, "WORKFLOW_BASE_URL=http://app.invalid", "WORKFLOW_WORLD_PROXY="+proxy.URL)...)
	runID := newRun(t, base, "")
	post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":"step_1"}}`, runID))
	require.Equal(t, "http://app.invalid/.well-known/workflow/v1/step", <-paths)
	post(t, base+"/v1/runs/"+runID+"/events", `{"event":{"eventType":"hook_created","specVersion":7,"correlationId":"hook_1","eventData":{"token":"tok"}}}`)
	status, text := send(t, base+"/.well-known/workflow/v1/webhook/tok", `{}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, "http://app.invalid/.well-known/workflow/v1/webhook/tok", <-paths)
	require.NoError(t, stop())
}

// Commands reach the service through the proxy of the setting, and no other.
func TestCommandsTakeTheProxyOfTheSettingOnly(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":{"message":"by the proxy: `+r.URL.String()+`"}}`, http.StatusForbidden)
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	s := service{url: "http://service.invalid"}
	_, err := s.call(t.Context(), http.MethodGet, "/v1/queue", nil, nil)
	require.ErrorContains(t, err, "no world-redis answers at http://service.invalid")
	t.Setenv("WORKFLOW_WORLD_PROXY", proxy.URL)
	_, err = s.call(t.Context(), http.MethodGet, "/v1/queue", nil, nil)
	require.ErrorContains(t, err, "by the proxy: http://service.invalid/v1/queue")
	t.Setenv("WORKFLOW_WORLD_PROXY", "maybe")
	_, err = s.call(t.Context(), http.MethodGet, "/v1/queue", nil, nil)
	require.ErrorContains(t, err, "WORKFLOW_WORLD_PROXY must be")
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// plantApp stores a registration as an older build did, which refused none.
func plantApp(t *testing.T, r *redistest.Redis, baseURL, deployment string) {
	t.Helper()
	now := time.Now().UnixMilli()
	record, err := cbor.Marshal(map[int]any{1: baseURL, 2: deployment, 4: now, 7: now + time.Hour.Milliseconds()})
	require.NoError(t, err)
	require.NoError(t, r.Client.HSet(t.Context(), r.Prefix+"apps", deployment+"\n"+baseURL, record).Err())
}

// waiting returns the reasons of the waiting messages, by message.
func waiting(t *testing.T, base string) map[string]string {
	t.Helper()
	_, text := get(t, base+"/v1/queue/messages?limit=200")
	var page struct {
		Data []struct{ MessageID, Reason string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &page), text)
	out := map[string]string{}
	for _, m := range page.Data {
		out[m.MessageID] = m.Reason
	}
	return out
}

func newHook(t *testing.T, base, runID, token string) {
	t.Helper()
	post(t, base+"/v1/runs/"+runID+"/events", fmt.Sprintf(
		`{"event":{"eventType":"hook_created","specVersion":7,"correlationId":"hook_1","eventData":{"token":%q}}}`, token))
}

// An address where no app can be is not registered, neither with a message nor by itself.
func TestAddressesThatNoAppCanBeAtAreNotRegistered(t *testing.T) {
	t.Parallel()
	r, environ := redisOf(t)
	base, _, stop := startService(t, environ...)
	own, err := url.Parse(base)
	require.NoError(t, err)
	for address, reason := range map[string]string{
		base:                                   "it is the address of this service itself",
		"http://localhost:" + own.Port() + "/": "it is the address of this service itself",
		"http://[::ffff:127.0.0.1]:" + own.Port(): "it is the address of this service itself",
		"http://" + r.Addr:                        "it is the address of this service's Redis",
		"http://169.254.169.254":                  "metadata",
		"http://[fd00:ec2::254]":                  "metadata",
		"http://169.254.10.1:3000":                "link-local",
		"http://127.0.0.1:99999":                  "the port is not from 1 to 65535",
		"http://0x7f000001:3000":                  "neither a name nor an IP address in its usual form",
		"http://2130706433:3000":                  "neither a name nor an IP address in its usual form",
		"http://0.0.0.0:3000":                     "where a server listens",
		"gopher://127.0.0.1:3000":                 "must be an http:// or https:// address",
		"http://user:pw@app.internal":             "must have no user name",
	} {
		app := fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1"}`, address)
		status, text := send(t, base+"/v1/apps", app)
		require.Equal(t, http.StatusBadRequest, status, address)
		require.Contains(t, text, reason, address)
		status, text = send(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":1,"app":%s}`, app))
		require.Equal(t, http.StatusBadRequest, status, address)
		require.Contains(t, text, reason, address)
	}
	_, text := get(t, base+"/v1/apps")
	require.JSONEq(t, `{"data":[]}`, text)
	require.Empty(t, waiting(t, base))
	post(t, base+"/v1/apps", `{"baseUrl":"http://127.0.0.1:1","deploymentId":"dpl_1"}`)
	require.NoError(t, stop())
}

// After an upgrade: such an app was registered by an older build. It gets nothing, and the messages that wait for it
// say why. The webhook is answered, once.
func TestStoredAppsThatTheServiceDoesNotConnectTo(t *testing.T) {
	t.Parallel()
	r, environ := redisOf(t)
	base, _, stop := startService(t, environ...)
	runID := newRun(t, base, "")
	newHook(t, base, runID, "tok")
	for address, reason := range map[string]string{base: "it is the address of this service itself", "http://169.254.169.254": "metadata", "http://127.1:80": "usual form"} {
		plantApp(t, r, address, "dpl_1")
		_, text := get(t, base+"/v1/apps")
		require.Contains(t, text, `"alive":true,"refused":"this service does not connect to `, address)
		status, text := send(t, base+"/.well-known/workflow/v1/webhook/tok", `{}`)
		require.Equal(t, http.StatusServiceUnavailable, status, text)
		require.Contains(t, text, "this service does not connect to any app that is registered to take this webhook", address)
		// Another registration makes the queue read the list.
		post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":"http://127.0.0.1:1","deploymentId":%q}`, "not dpl_1 "+address))
		messageID := post(t, base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_w","message":{"runId":%q,"x":1},"deploymentId":"dpl_1"}`, runID))["messageId"].(string)
		require.Eventually(t, func() bool {
			why := waiting(t, base)[messageID]
			return strings.Contains(why, `no app of deployment "dpl_1" has registered; there is `+address) && strings.Contains(why, reason)
		}, time.Minute, 10*time.Millisecond, address)
		require.NoError(t, r.Client.Del(t.Context(), r.Prefix+"apps").Err())
	}
	require.Len(t, waiting(t, base), 3, "a message that comes back to the service would be one more")
	require.NoError(t, stop())
}

// The configured app is the service itself.
func TestTheConfiguredAppIsNotTheServiceItself(t *testing.T) {
	t.Parallel()
	for listen, baseURL := range map[string]string{
		"127.0.0.1:8787": "http://127.0.0.1:8787", "localhost:8787": "http://LOCALHOST.:8787/base", "0.0.0.0:8787": "http://127.0.0.1:8787", ":80": "http://localhost", "[::]:443": "https://[::1]",
	} {
		_, _, err := loadConfig([]string{"WORKFLOW_WORLD_LISTEN=" + listen, "WORKFLOW_BASE_URL=" + baseURL})
		require.ErrorContains(t, err, "WORKFLOW_BASE_URL is the address of the app to deliver to, and this service does not connect to", listen)
		require.ErrorContains(t, err, "it is the address of this service itself", listen)
	}
	_, _, err := loadConfig([]string{"WORKFLOW_WORLD_METRICS_LISTEN=127.0.0.1:9090", "WORKFLOW_BASE_URL=http://localhost:9090"})
	require.ErrorContains(t, err, "it is the address of this service itself", "the metrics have a listener, too")
	_, _, err = loadConfig([]string{"WORKFLOW_BASE_URL=http://localhost:3000"})
	require.NoError(t, err)
	_, _, err = loadConfig([]string{"WORKFLOW_BASE_URL=http://app:3000", "WORKFLOW_WORLD_APP_HOSTS=other"})
	require.ErrorContains(t, err, "not among WORKFLOW_WORLD_APP_HOSTS")
	_, _, err = loadConfig([]string{"WORKFLOW_WORLD_APP_HOSTS=http://app"})
	require.ErrorContains(t, err, "WORKFLOW_WORLD_APP_HOSTS: entry 1")
}

// Only listed hosts are dialled, for deliveries, webhooks and the check alike: a listed network is applied to the
// address that a name resolves to.
func TestOnlyListedHostsAreDialled(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(app.Close)
	address, err := url.Parse(app.URL)
	require.NoError(t, err)
	_, environ := redisOf(t)
	p := startProcess(t, append(environ, "WORKFLOW_WORLD_APP_HOSTS=10.0.0.0/8")...)
	runID := newRun(t, p.base, "")
	newHook(t, p.base, runID, "tok")
	status, text := send(t, p.base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1"}`, app.URL))
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "it is not among WORKFLOW_WORLD_APP_HOSTS of the service")
	named := "http://localhost:" + address.Port()
	post(t, p.base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1"}`, named))
	id := post(t, p.base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_workflow_w","message":{"runId":%q},"deploymentId":"dpl_1"}`, runID))["messageId"].(string)
	require.Eventually(t, func() bool {
		return strings.Contains(waiting(t, p.base)[id], "this service does not connect to localhost:"+address.Port()+" (")
	}, time.Minute, 10*time.Millisecond)
	status, text = send(t, p.base+"/.well-known/workflow/v1/webhook/tok", `{}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "this service does not connect to the app that owns this hook")
	for _, line := range []string{"no workflow app answers at this address", "no app can be at this address", "a webhook was not forwarded"} {
		require.Eventually(t, func() bool { return strings.Contains(p.out.String(), line) }, time.Minute, 10*time.Millisecond, line)
		require.Equal(t, 1, strings.Count(p.out.String(), line), line)
	}
	require.Empty(t, asked)
	p.kill()

	p = startProcess(t, append(environ, "WORKFLOW_WORLD_APP_HOSTS=127.0.0.0/8, ::1")...)
	post(t, p.base+"/v1/queue", fmt.Sprintf(`{"queueName":"__wkf_step_s","message":{"workflowRunId":%q,"stepId":"step_1"},"deploymentId":"dpl_1"}`, runID))
	for path := range asked {
		if path == "/.well-known/workflow/v1/step" {
			break
		}
	}
	status, text = send(t, p.base+"/.well-known/workflow/v1/webhook/tok", `{}`)
	require.Equal(t, http.StatusOK, status, text)
}

// Two services have each other as apps: a request that loops is refused.
func TestServicesThatTakeEachOtherForApps(t *testing.T) {
	t.Parallel()
	_, environ := redisOf(t)
	one, _, stopOne := startService(t, environ...)
	_, environ = redisOf(t)
	two, _, stopTwo := startService(t, environ...)
	for base, other := range map[string]string{one: two, two: one} {
		post(t, base+"/v1/apps", fmt.Sprintf(`{"baseUrl":%q,"deploymentId":"dpl_1"}`, other))
		newHook(t, base, newRun(t, base, ""), "tok")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask := func(method, address, hops string) (int, string) {
		req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(`{"x":1}`))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Vqs-Queue-Name", "__wkf_workflow_w")
		req.Header.Set("X-Vqs-Message-Id", "msg_"+hops)
		if hops != "" {
			req.Header.Set("X-World-Redis-Hops", hops)
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		defer func() { require.NoError(t, res.Body.Close()) }()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(text)
	}
	const webhook, flow = "/.well-known/workflow/v1/webhook/tok", "/.well-known/workflow/v1/flow"
	status, text := ask(http.MethodPost, one+webhook, "")
	require.Equal(t, http.StatusLoopDetected, status)
	require.Contains(t, text, `"code":"loop_detected"`)
	for _, hops := range []string{"5", "many", "-1"} {
		status, _ = ask(http.MethodGet, one+"/healthz", hops)
		require.Equal(t, http.StatusLoopDetected, status, hops)
	}

	// A message reaches the other service, which takes it for one of its own, once. It ends with the fifth hop.
	status, first := ask(http.MethodPost, one+flow, "4")
	require.Equal(t, http.StatusAccepted, status)
	status, again := ask(http.MethodPost, one+flow, "4")
	require.Equal(t, http.StatusAccepted, status)
	require.JSONEq(t, first, again, "it was delivered once more")
	require.Eventually(t, func() bool {
		for _, why := range waiting(t, one) {
			return strings.Contains(why, "answered 508") && strings.Contains(why, "a world-redis service answers there, not an app")
		}
		return false
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, waiting(t, one), 1)
	require.Empty(t, waiting(t, two))
	require.NoError(t, stopOne())
	require.NoError(t, stopTwo())
}

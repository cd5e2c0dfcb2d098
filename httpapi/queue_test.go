package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/internal/wire"
)

const flowQueue = "__wkf_workflow_workflow//./workflows/bench//addition"

func enqueued(t *testing.T, f *fakes, body any, header map[string]string) world.Message {
	t.Helper()
	var got world.Message
	f.queue.enqueue = func(m world.Message) (string, error) { got = m; return "msg_1", nil }
	w := call{method: http.MethodPost, target: "/v1/queue", body: body, header: header}.do(t, newServer(t, f))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return got
}

func TestEnqueueReadsTheWholeCall(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var app world.App
	f.apps.register = func(a world.App) error { app = a; return nil }
	// A record as the client's encoder writes it; it must reach the app byte for byte.
	message := cbor.RawMessage(unhex(t, "b900036572756e4964"+"63725f31"+"6673746570496464735f3131"+"65696e707574"+"d8404101"))
	got := enqueued(t, f, m{
		"queueName": "__acme_wkf_workflow_x", "message": message, "idempotencyKey": "k", "delaySeconds": 1.5,
		"headers": m{"traceparent": "00-1"}, "app": m{"baseUrl": "http://localhost:3000/base/", "deploymentId": "dpl_9", "sdk": "v5"},
	}, map[string]string{transport.HeaderIdempotencyKey: "req-1"})
	require.Equal(t, world.Message{
		QueueName: "__acme_wkf_workflow_x", Body: message, ContentType: input.TypeCBOR, Headers: map[string]string{"traceparent": "00-1"}, IdempotencyKey: "k",
		Delay: 1500 * time.Millisecond, DeploymentID: "dpl_9", RequestID: "req-1", RunID: "r_1", StepID: "s_11", SDK: "v5",
	}, got)
	require.Equal(t, world.App{BaseURL: "http://localhost:3000/base", DeploymentID: "dpl_9", SDK: "v5"}, app)
}

func TestEnqueueAnswer(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.queue.enqueue = func(world.Message) (string, error) { return "msg_1", nil }
	s := newServer(t, f)
	_, body := post(t, s, "/v1/queue", `{"queueName":"__wkf_step_x","message":[1,{"__type":"Uint8Array","data":"AQ=="}]}`)
	require.Equal(t, `{"messageId":"msg_1"}`, body)
}

// Which messages may be merged with another wake-up of the same run.
func TestWhatTheQueueLearnsOfAMessage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		queue, message string
		run, step      string
		plain          bool
	}{
		"bare wake-up":           {flowQueue, `{"runId":"r"}`, "r", "", true},
		"with trace and time":    {flowQueue, `{"runId":"r","traceCarrier":{},"requestedAt":"x"}`, "r", "", true},
		"null counts as absent":  {flowQueue, `{"runId":"r","runInput":null}`, "r", "", true},
		"carries input":          {flowQueue, `{"runId":"r","runInput":{}}`, "r", "", false},
		"for a step":             {flowQueue, `{"runId":"r","stepId":"s"}`, "r", "s", false},
		"step message":           {"__wkf_step_x", `{"workflowRunId":"r","stepId":"s","workflowName":"w"}`, "r", "s", false},
		"step queue, bare":       {"__wkf_step_x", `{"runId":"r"}`, "r", "", false},
		"health check":           {flowQueue, `{"__healthCheck":true,"correlationId":"c"}`, "", "", false},
		"no run":                 {flowQueue, `{"requestedAt":1}`, "", "", false},
		"not an object":          {flowQueue, `"text"`, "", "", false},
		"runId wins over legacy": {flowQueue, `{"workflowRunId":"old","runId":"r"}`, "r", "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := enqueued(t, newFakes(t), `{"queueName":"`+c.queue+`","message":`+c.message+`}`, nil)
			require.Equal(t, []any{c.run, c.step, c.plain}, []any{got.RunID, got.StepID, got.Plain})
			want, err := wire.FromJSON([]byte(c.message))
			require.NoError(t, err)
			require.Equal(t, []byte(want), got.Body)
		})
	}
}

func TestBadQueueCalls(t *testing.T) {
	t.Parallel()
	with := func(extra m) m {
		body := m{"queueName": flowQueue, "message": m{"runId": "r"}}
		for k, v := range extra {
			body[k] = v
		}
		return body
	}
	cases := map[string]struct {
		body any
		want string
	}{
		"no queue":          {m{"message": 1}, "queueName is missing"},
		"other queue":       {with(m{"queueName": "jobs"}), `queueName "jobs" is neither`},
		"bad namespace":     {with(m{"queueName": "__A_wkf_workflow_x"}), "is neither"},
		"long queue":        {with(m{"queueName": "__wkf_step_" + strings.Repeat("x", 4096)}), "body.queueName has 4107 bytes, the limit is 4096"},
		"no message":        {m{"queueName": flowQueue}, "body.message is missing"},
		"null message":      {with(m{"message": nil}), "body.message is missing"},
		"negative delay":    {with(m{"delaySeconds": -0.1}), "body.delaySeconds must be a number of seconds"},
		"endless delay":     {with(m{"delaySeconds": 3.2e8}), "body.delaySeconds must be a number of seconds"},
		"NaN delay":         {with(m{"delaySeconds": cbor.RawMessage{0xf9, 0x7e, 0}}), "body.delaySeconds must be a number of seconds"},
		"delay in words":    {with(m{"delaySeconds": "1"}), "body.delaySeconds must be a number of seconds"},
		"headers a list":    {with(m{"headers": []int{}}), "body.headers must be an object"},
		"header name":       {with(m{"headers": m{"a b": "x"}}), "body.headers must map names of HTTP headers"},
		"header smuggling":  {with(m{"headers": m{"a": "x\r\nb: y"}}), "body.headers must map names of HTTP headers"},
		"header number":     {with(m{"headers": m{"a": 1}}), "body.headers must map names of HTTP headers"},
		"large headers":     {with(m{"headers": m{"a": strings.Repeat("x", 17<<10)}}), "body.headers has more than 16 KiB"},
		"run id braces":     {with(m{"message": m{"runId": "{x}"}}), "message.runId must be an id"},
		"step id path":      {with(m{"message": m{"runId": "r", "stepId": "../x"}}), "message.stepId must be an id"},
		"run id number":     {with(m{"message": m{"runId": 5}}), "message.runId must be text"},
		"app without url":   {with(m{"app": m{"deploymentId": "d"}}), "body.app.baseUrl is missing"},
		"app with ftp":      {with(m{"app": m{"deploymentId": "d", "baseUrl": "ftp://x"}}), "body.app.baseUrl must be an http:// or https:// address"},
		"app is text":       {with(m{"app": "x"}), "body.app must be an object"},
		"long key":          {with(m{"idempotencyKey": strings.Repeat("k", 1025)}), "body.idempotencyKey has 1025 bytes"},
		"deployment number": {with(m{"deploymentId": 1}), "body.deploymentId must be text"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := postCBOR(t, newServer(t, newFakes(t)), "/v1/queue", c.body)
			require.Equal(t, http.StatusBadRequest, status)
			require.Contains(t, errorOf(t, body)["message"], c.want)
		})
	}
}

// A message must not be queued for an app that could not be registered.
func TestEnqueueStopsWhenTheAppIsNotRegistered(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.apps.register = func(world.App) error { return world.Errorf(world.CodeUnavailable, "Redis is away") }
	status, _ := post(t, newServer(t, f), "/v1/queue", `{"queueName":"__wkf_step_x","message":1,"app":{"baseUrl":"http://a","deploymentId":"d"}}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
}

func TestApps(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var got world.App
	f.apps.register = func(a world.App) error { got = a; return nil }
	f.apps.list = func() ([]world.App, error) {
		return []world.App{{
			BaseURL: "http://a", DeploymentID: "d", SDK: "v4", Namespace: "acme", Lease: 90 * time.Second, SeenAt: 5, AliveUntil: 90_005, Alive: true, TakesPreload: true,
		}, {BaseURL: "http://b"}}, nil
	}
	s := newServer(t, f)
	status, body := post(t, s, "/v1/apps", `{"baseUrl":"https://user.example:8443///","deploymentId":"d","seenAt":99}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{}`, body)
	require.Equal(t, world.App{BaseURL: "https://user.example:8443", DeploymentID: "d"}, got)
	for attach, want := range map[string]bool{`["later","run_started"]`: true, `["later"]`: false, `[]`: false, `null`: false} {
		status, body = post(t, s, "/v1/apps", `{"baseUrl":"http://a","deploymentId":"d","attach":`+attach+`}`)
		require.Equal(t, http.StatusOK, status, body)
		require.Equal(t, want, got.TakesPreload, attach)
	}
	_, body = post(t, s, "/v1/apps", `{"baseUrl":"http://a","deploymentId":"d","attach":"run_started"}`)
	require.Equal(t, "body.attach must be a list", errorOf(t, body)["message"])
	_, body = get(t, s, "/v1/apps")
	require.Equal(t, `{"data":[{"baseUrl":"http://a","deploymentId":"d","sdk":"v4","namespace":"acme","attach":["run_started"],"leaseSeconds":90,"seenAt":5,"aliveUntil":90005,"alive":true},`+
		`{"baseUrl":"http://b","deploymentId":"","alive":false}]}`, body)

	for base, want := range map[string]string{
		"":                        "body.baseUrl is missing",
		"localhost:3000":          "body.baseUrl must be an http:// or https:// address of the app",
		"//x":                     "body.baseUrl must be an http:// or https:// address of the app",
		"http://":                 "body.baseUrl must be an http:// or https:// address of the app",
		"http://a b":              "body.baseUrl must be an http:// or https:// address of the app",
		"file:///etc/passwd":      "body.baseUrl must be an http:// or https:// address of the app",
		"http://user:pw@x":        "body.baseUrl must have no user name, query or fragment",
		"http://x/?a=1":           "body.baseUrl must have no user name, query or fragment",
		"http://x/#a":             "body.baseUrl must have no user name, query or fragment",
		"http://x/?":              "body.baseUrl must have no user name, query or fragment",
		strings.Repeat("h", 3000): "body.baseUrl has 3000 bytes, the limit is 2048",
	} {
		status, body := post(t, newServer(t, newFakes(t)), "/v1/apps", `{"baseUrl":"`+base+`","deploymentId":"d"}`)
		require.Equal(t, http.StatusBadRequest, status, base)
		require.Equal(t, want, errorOf(t, body)["message"])
	}
	_, body = post(t, newServer(t, newFakes(t)), "/v1/apps", `{"baseUrl":"http://x"}`)
	require.Equal(t, "body.deploymentId is missing", errorOf(t, body)["message"])
	_, body = post(t, newServer(t, newFakes(t)), "/v1/apps", `{"baseUrl":"http://x","deploymentId":"d","sdk":"v9"}`)
	require.Equal(t, "body.sdk must be v4 or v5", errorOf(t, body)["message"])
	_, body = post(t, newServer(t, newFakes(t)), "/v1/apps", `{"baseUrl":"http://x","deploymentId":"d","namespace":"A"}`)
	require.Equal(t, "body.namespace must be a lower-case letter, then such letters and digits", errorOf(t, body)["message"])
	_, body = post(t, newServer(t, newFakes(t)), "/v1/apps", `{"baseUrl":"http://x","deploymentId":"d","leaseSeconds":2592001}`)
	require.Equal(t, "body.leaseSeconds must be from 0 to 2592000", errorOf(t, body)["message"])
}

// An app registers with a lease and a namespace, and unregisters.
func TestAppsHaveLeases(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var got world.App
	var gone [2]string
	f.apps.register = func(a world.App) error { got = a; return nil }
	f.apps.unregister = func(baseURL, deploymentID string) error { gone = [2]string{baseURL, deploymentID}; return nil }
	s := newServer(t, f)
	app := `{"baseUrl":"http://a:1/","deploymentId":"d","sdk":"v5","namespace":"acme","leaseSeconds":90,"aliveUntil":1,"alive":true}`
	status, body := post(t, s, "/v1/apps", app)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, world.App{BaseURL: "http://a:1", DeploymentID: "d", SDK: "v5", Namespace: "acme", Lease: 90 * time.Second}, got)
	status, body = post(t, s, "/v1/apps/unregister", app)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{}`, body)
	require.Equal(t, [2]string{"http://a:1", "d"}, gone)
}

// The SDK generation of a message's run is known from the run's spec version, or because an app sends the message to
// its own deployment.
func TestEnqueueKnowsTheGenerationOfTheRun(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`"specVersion":7`: "v5", `"specVersion":5`: "v5", `"specVersion":3`: "v4", `"specVersion":1`: "", `"namespace":"acme"`: "",
		`"app":{"baseUrl":"http://a","deploymentId":"d","sdk":"v4"}`:                    "v4",
		`"deploymentId":"e","app":{"baseUrl":"http://a","deploymentId":"d","sdk":"v4"}`: "",
		`"specVersion":7,"app":{"baseUrl":"http://a","deploymentId":"d","sdk":"v4"}`:    "v5",
	} {
		f := newFakes(t)
		f.apps.register = func(world.App) error { return nil }
		var got world.Message
		f.queue.enqueue = func(m world.Message) (string, error) { got = m; return "msg_1", nil }
		status, answer := post(t, newServer(t, f), "/v1/queue", `{"queueName":"__wkf_step_x","message":1,`+body+`}`)
		require.Equal(t, http.StatusOK, status, answer)
		require.Equal(t, want, got.SDK, body)
	}
}

func TestWellKnownRoutesTakeMessages(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var got world.Message
	f.queue.enqueue = func(m world.Message) (string, error) { got = m; return "msg_7", nil }
	s := newServer(t, f)
	w := call{method: http.MethodPost, target: "/.well-known/workflow/v1/flow", body: `{"runId":"r"}`, header: map[string]string{
		"x-vqs-queue-name": flowQueue, "x-idempotency-key": "k", "x-delay-seconds": "0.25", "traceparent": "00-1", transport.HeaderIdempotencyKey: "req",
	}}.do(t, s)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, `{"messageId":"msg_7"}`, w.Body.String())
	require.Equal(t, world.Message{
		QueueName: flowQueue, Body: unhex(t, "b900016572756e49646172"), ContentType: input.TypeCBOR, Headers: map[string]string{"traceparent": "00-1"},
		IdempotencyKey: "k", Delay: 250 * time.Millisecond, RequestID: "req", RunID: "r", Plain: true,
	}, got)

	w = call{method: http.MethodPost, target: "/.well-known/workflow/v1/step", body: []byte{0x01}, header: map[string]string{"x-vqs-queue-name": "__wkf_step_ß"}}.do(t, s)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, world.Message{QueueName: "__wkf_step_ß", Body: []byte{1}, ContentType: input.TypeCBOR, RequestID: "req_made_up"}, got)

	for want, header := range map[string]map[string]string{
		"the header x-vqs-queue-name is missing":                       {},
		"is for …/step, not for …/flow":                                {"x-vqs-queue-name": "__wkf_step_x"},
		"is neither":                                                   {"x-vqs-queue-name": "x"},
		"x-delay-seconds must be a number of seconds":                  {"x-vqs-queue-name": flowQueue, "x-delay-seconds": "NaN"},
		"x-delay-seconds must be a number of seconds from 0 to ten ye": {"x-vqs-queue-name": flowQueue, "x-delay-seconds": "-1"},
		"x-idempotency-key has 1025 bytes":                             {"x-vqs-queue-name": flowQueue, "x-idempotency-key": strings.Repeat("k", 1025)},
	} {
		w := call{method: http.MethodPost, target: "/.well-known/workflow/v1/flow", body: "{}", header: header}.do(t, newServer(t, newFakes(t)))
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, errorOf(t, w.Body.String())["message"], want)
	}
}

func TestEnqueueFailure(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.queue.enqueue = func(world.Message) (string, error) { return "", errors.New("boom") }
	status, _ := post(t, newServer(t, f), "/v1/queue", `{"queueName":"__wkf_step_x","message":1}`)
	require.Equal(t, http.StatusInternalServerError, status)
}

// An app that registers learns what is wrong with its address. The answer has a bound.
func TestRegistrationIsAnsweredWithWarnings(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.apps.register = func(world.App) error { return nil }
	var asked world.App
	var warnings []world.AppWarning
	f.warnings = func(a world.App) []world.AppWarning { asked = a; return warnings }
	s := newServer(t, f)
	status, body := post(t, s, "/v1/apps", `{"baseUrl":"http://a","deploymentId":"d","nonce":"n1","workflows":["b","a","b"]}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{}`, body)
	require.Equal(t, world.App{BaseURL: "http://a", DeploymentID: "d", Nonce: "n1", Workflows: "a\nb"}, asked)
	warnings = []world.AppWarning{{Code: world.NoAnswer, Message: "nobody"}}
	_, body = post(t, s, "/v1/apps", `{"baseUrl":"http://a","deploymentId":"d"}`)
	require.Equal(t, `{"warnings":[{"code":"no_answer","message":"nobody"}]}`, body)
	warnings = slices.Repeat([]world.AppWarning{{Code: world.OtherApp, Message: strings.Repeat("é", 300)}}, 9)
	_, body = post(t, s, "/v1/apps", `{"baseUrl":"http://a","deploymentId":"d"}`)
	require.Equal(t, world.MaxAppWarnings, strings.Count(body, `"other_app"`))
	require.Equal(t, world.MaxAppWarnings*250, strings.Count(body, "é"))
	for bad, reason := range map[string]string{
		`"nonce":"` + strings.Repeat("n", 129) + `"`: "nonce", `"workflows":"a"`: "workflows", `"workflows":[""]`: "workflows", `"workflows":["a\nb"]`: "workflows",
		`"workflows":["` + strings.Repeat("w", 8193) + `"]`: "workflows",
	} {
		status, body = post(t, s, "/v1/apps", `{"baseUrl":"http://a","deploymentId":"d",`+bad+`}`)
		require.Equal(t, http.StatusBadRequest, status, bad)
		require.Contains(t, body, reason)
	}
}

package embedded_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/redistest"
)

// The app gets the body byte for byte at its route, below its base path, with the headers of the contract and the
// harmless ones of the queue() call.
func TestDeliveryCarriesTheMessage(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, acknowledge)
	d := deliveryTo(app.URL + "/v2/")
	d.Kind = world.KindFlow
	d.QueueName = "__wkf_workflow_w%41 wörk\r\nflow"
	d.Body = []byte{0, 0xff, '\n'}
	d.Headers = map[string]string{
		"traceparent": "00-1", "x-vqs-message-attempt": "99", "X-VQS-Other": "x", "host": "evil", "Content-Length": "1", "transfer-encoding": "chunked",
		"authorization": "Bearer x", "bad name": "x", "": "x", "tracestate": "a\r\nInjected: b",
	}
	require.Equal(t, world.Outcome{Verdict: world.Done, Status: 200, Sent: true}, newForwarder(t).Deliver(t.Context(), d))
	got := app.got()
	require.Len(t, got, 1)
	require.Equal(t, http.MethodPost, got[0].method)
	require.Equal(t, "/v2/.well-known/workflow/v1/flow", got[0].path)
	require.Equal(t, d.Body, got[0].body)
	require.Equal(t, http.Header{
		"Accept": {"application/json, application/cbor"}, "Content-Length": {"3"}, "Content-Type": {"application/cbor"}, "User-Agent": {"world-redis"},
		"X-Vqs-Queue-Name": {"__wkf_workflow_w%2541 w%C3%B6rk%0D%0Aflow"}, "X-World-Redis-Hops": {"1"}, "X-Vqs-Message-Id": {"msg_1"}, "X-Vqs-Message-Attempt": {"3"},
		"Traceparent": {"00-1"}, "Tracestate": {"a%0D%0AInjected: b"},
	}, got[0].header)
}

// BR-23: every answer that an app may give (contract §5.4), and what middleware makes of it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	ack := func(v world.Verdict, delay time.Duration) world.Outcome {
		return world.Outcome{Verdict: v, Delay: delay, Status: 200, Sent: true}
	}
	const century = 100 * 366 * 24 * time.Hour
	cases := map[string]struct {
		status       int
		header       map[string]string
		body         string
		want         world.Outcome
		reasonHasAll []string
	}{
		"ok":                   {200, json(), `{"ok":true}`, ack(world.Done, 0), nil},
		"ok with more":         {200, json(), `{"ok":true,"x":[1]}`, ack(world.Done, 0), nil},
		"ok, charset":          {200, typed("application/json; charset=utf-8"), `{"ok":true}`, ack(world.Done, 0), nil},
		"ok, CBOR":             {200, typed("application/cbor"), "\xa1\x62ok\xf5", ack(world.Done, 0), nil},
		"201":                  {201, json(), `{"ok":true}`, world.Outcome{Verdict: world.Done, Status: 201, Sent: true}, nil},
		"again now":            {200, json(), `{"timeoutSeconds":0}`, ack(world.Reschedule, 0), nil},
		"again in 2 s":         {200, json(), `{"timeoutSeconds":2}`, ack(world.Reschedule, 2*time.Second), nil},
		"again in 1.5 s":       {200, json(), `{"timeoutSeconds":1.5}`, ack(world.Reschedule, 1500*time.Millisecond), nil},
		"again in 30 days":     {200, json(), `{"timeoutSeconds":2592000}`, ack(world.Reschedule, 30*24*time.Hour), nil},
		"again in a long time": {200, json(), `{"timeoutSeconds":1e300}`, ack(world.Reschedule, century), nil},
		"again and ok":         {200, json(), `{"ok":true,"timeoutSeconds":1}`, ack(world.Reschedule, time.Second), nil},
		"again, CBOR integer":  {200, typed("application/cbor"), "\xa1\x6etimeoutSeconds\x05", ack(world.Reschedule, 5*time.Second), nil},
		"again, CBOR float":    {200, typed("application/cbor"), "\xa1\x6etimeoutSeconds\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00", ack(world.Reschedule, 1500*time.Millisecond), nil},
		"negative":             {200, json(), `{"timeoutSeconds":-1}`, refused(200, 0), []string{"an acknowledgement is"}},
		"no number":            {200, json(), `{"timeoutSeconds":"5"}`, refused(200, 0), nil},
		"ok: false":            {200, json(), `{"ok":false}`, refused(200, 0), nil},
		"ok: 1":                {200, json(), `{"ok":1}`, refused(200, 0), nil},
		"unknown":              {200, json(), `{"hello":"world"}`, refused(200, 0), []string{`{\"hello\":\"world\"}`}},
		"array":                {200, json(), `[{"ok":true}]`, refused(200, 0), nil},
		"null":                 {200, json(), `null`, refused(200, 0), nil},
		"cut JSON":             {200, json(), `{"ok":true`, refused(200, 0), nil},
		"JSON as text":         {200, typed("text/plain"), `{"ok":true}`, refused(200, 0), nil},
		"login page":           {200, typed("text/html; charset=utf-8"), "<!doctype html><title>Log in</title>", refused(200, 0), []string{"Log in", "login page"}},
		"empty":                {200, json(), "", refused(200, 0), []string{"an empty body"}},
		"204":                  {204, nil, "", refused(204, 0), []string{"no content type"}},
		"too long":             {200, json(), `{"ok":true,"x":"` + strings.Repeat("x", 1<<20) + `"}`, refused(200, 0), nil},
		"redirect to a login":  {307, map[string]string{"Location": "/login"}, "", refused(307, 0), []string{`"/login"`, "redirects are not followed"}},
		"redirect, permanent":  {301, map[string]string{"Location": "https://example.com/"}, "", refused(301, 0), nil},
		"bad request":          {400, json(), `{"error":"Unhandled queue"}`, refused(400, 0), []string{"Unhandled queue", "another app"}},
		"who are you":          {401, nil, "", refused(401, 0), []string{"authentication"}},
		"forbidden":            {403, nil, "", refused(403, 0), []string{"authentication"}},
		"no route":             {404, typed("text/html"), "<h1>404</h1>", refused(404, 0), []string{"WORKFLOW_BASE_URL"}},
		"wrong method":         {405, nil, "", refused(405, 0), nil},
		"too large":            {413, nil, "", refused(413, 0), []string{"limits the size"}},
		"slow down":            {429, map[string]string{"Retry-After": "7"}, "", refused(429, 7*time.Second), []string{"limiting"}},
		"slow down, somehow":   {429, map[string]string{"Retry-After": "soon"}, "", refused(429, 0), nil},
		"failed":               {500, json(), `"boom"`, refused(500, 0), []string{"boom", "log"}},
		"failed, Retry-After":  {500, map[string]string{"Retry-After": "7"}, "", refused(500, 0), nil},
		"not now":              {503, map[string]string{"Retry-After": "0.5"}, "", refused(503, 500*time.Millisecond), nil},
		"value too large": { // BR-37
			500, json(), `{"error":"WorkflowWorldError: 9 of 8","refused":{"code":"too_large","message":"9 of 8"}}`,
			world.Outcome{Verdict: world.TooLarge, Status: 500, Reason: "9 of 8", Sent: true},
			nil,
		},
		"refused otherwise":     {500, json(), `{"error":"x","refused":{"code":"invalid","message":"9 of 8"}}`, refused(500, 0), nil},
		"too large, no reason":  {500, json(), `{"error":"x","refused":{"code":"too_large"}}`, refused(500, 0), nil},
		"too large, elsewhere":  {413, json(), `{"refused":{"code":"too_large","message":"9 of 8"}}`, refused(413, 0), []string{"limits the size"}},
		"acknowledged by a 500": {500, json(), `{"ok":true}`, refused(500, 0), nil},
		"bytes that are no text": {
			500, typed("application/octet-stream"), "\xff\xfe" + strings.Repeat("a", 300) + "END", refused(500, 0),
			[]string{`"?` + strings.Repeat("a", 198) + `"`},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newStubApp(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil // none by guessing
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			out := newForwarder(t).Deliver(t.Context(), deliveryTo(app.URL))
			if c.want.Verdict == world.Failed {
				require.Contains(t, out.Reason, fmt.Sprintf("POST %s/.well-known/workflow/v1/step answered %d", app.URL, c.status))
				for _, part := range c.reasonHasAll {
					require.Contains(t, out.Reason, part)
				}
				require.NotContains(t, out.Reason, "END")
				out.Reason = ""
			}
			require.Equal(t, c.want, out)
			require.Len(t, app.got(), 1, "no redirect is followed, nothing is tried again")
		})
	}
}

func json() map[string]string          { return typed("application/json") }
func typed(t string) map[string]string { return map[string]string{"Content-Type": t} }
func refused(s int, d time.Duration) world.Outcome {
	return world.Outcome{Verdict: world.Failed, Status: s, Delay: d, Sent: true}
}

// BR-24: no process listens: certainly nothing was sent, and the reason says so.
func TestNothingListens(t *testing.T) {
	t.Parallel()
	address := redistest.Nobody(t)
	out := newForwarder(t).Deliver(t.Context(), deliveryTo("http://"+address))
	require.Equal(t, world.Unreachable, out.Verdict)
	require.False(t, out.Sent)
	require.Contains(t, out.Reason, "nothing listens there")
	require.Contains(t, out.Reason, address)
}

func TestUnknownHostAndUntrustedCertificate(t *testing.T) {
	t.Parallel()
	out := newForwarder(t).Deliver(t.Context(), deliveryTo("http://no-such-host.invalid"))
	require.Equal(t, world.Unreachable, out.Verdict)
	require.False(t, out.Sent)

	tls := httptest.NewUnstartedServer(http.HandlerFunc(acknowledge))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	out = newForwarder(t).Deliver(t.Context(), deliveryTo(tls.URL))
	require.Equal(t, world.Unreachable, out.Verdict)
	require.False(t, out.Sent)
	require.Contains(t, out.Reason, "certificate is not trusted")
}

// The app dies before or during its answer: it may have worked, so the request counts as sent.
func TestAppDiesDuringTheDelivery(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"before the answer": "", "in the answer": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newStubApp(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, begin)
				_ = conn.Close()
			})
			out := newForwarder(t).Deliver(t.Context(), deliveryTo(app.URL))
			require.Equal(t, world.Unreachable, out.Verdict)
			require.True(t, out.Sent)
			require.Contains(t, out.Reason, "closed the connection without an answer")
		})
	}
}

// BR-24: "localhost" is tried on IPv6 and IPv4.
func TestLocalhostIsTriedOnBothFamilies(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, acknowledge) // on 127.0.0.1 only
	u, err := url.Parse(app.URL)
	require.NoError(t, err)
	out := newForwarder(t).Deliver(t.Context(), deliveryTo("http://localhost:"+u.Port()))
	require.Equal(t, world.Done, out.Verdict)
}

// The service stops: the request ends with its context.
func TestDeliveryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	arrived, leave := make(chan struct{}), make(chan struct{})
	app := newStubApp(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-r.Context().Done():
		case <-leave:
		}
	})
	defer close(leave)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	out := newForwarder(t).Deliver(ctx, deliveryTo(app.URL))
	require.Equal(t, world.Unreachable, out.Verdict)
	require.True(t, out.Sent)
	require.Contains(t, out.Reason, "the service ended the delivery")
}

// Consecutive deliveries use one connection.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	opened := 0
	app := &stubApp{}
	app.Server = httptest.NewUnstartedServer(app.recording(acknowledge))
	app.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			mu.Lock()
			defer mu.Unlock()
			opened++
		}
	}
	app.Start()
	t.Cleanup(app.Close)
	f := newForwarder(t)
	for range 100 {
		require.Equal(t, world.Done, f.Deliver(t.Context(), deliveryTo(app.URL)).Verdict)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, opened)
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	f := embedded.New(embedded.Config{})
	for _, bad := range []string{"", "localhost:3000", "ftp://x", "http://", "http://a b", "::"} {
		out := f.Deliver(t.Context(), deliveryTo(bad))
		require.Equal(t, world.Failed, out.Verdict, bad)
		require.False(t, out.Sent)
		require.Contains(t, out.Reason, "is not an http or https address", bad)
	}
	d := deliveryTo("http://127.0.0.1:1")
	d.Kind = "mail"
	require.Contains(t, f.Deliver(t.Context(), d).Reason, "no route")
}

package embedded_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/dialpolicy"
)

// No address that the policy refuses is dialled, for any kind of request. The outcome of a delivery says that there can
// be no app.
func TestPolicyHoldsForAllThatIsDialled(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, acknowledge)
	address := strings.TrimPrefix(app.URL, "http://")
	policy := dialpolicy.New(dialpolicy.Hosts{})
	policy.Forbid(dialpolicy.Place{What: "the one", Addresses: func() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort(address)} }})
	f := embedded.New(embedded.Config{Policy: policy})
	t.Cleanup(f.Close)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	refused := new(dialpolicy.RefusedError)
	for base, reason := range map[string]string{
		app.URL:                    "this service does not connect to " + address + ": it is the one",
		"http://localhost:" + port: "this service does not connect to localhost:" + port + ": it is the one",
		"http://169.254.169.254":   "this service does not connect to 169.254.169.254:80: it is a metadata address",
	} {
		out := f.Deliver(t.Context(), deliveryTo(base))
		require.Equal(t, world.Outcome{Verdict: world.Unreachable, NoApp: true, Reason: out.Reason}, out)
		require.Contains(t, out.Reason, reason)
		require.ErrorAs(t, f.Check(t.Context(), base), &refused, base)
		require.False(t, f.Gone(t.Context(), base), base)
	}
	require.Empty(t, app.got())
}

// Behind a proxy only the proxy resolves names, so hosts are checked as written.
func TestPolicyHoldsThroughAProxy(t *testing.T) {
	t.Parallel()
	proxy := newStubApp(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-World-Redis-Client", "1")
		acknowledge(w, r)
	})
	u, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	hosts, err := dialpolicy.ParseHosts("app.example")
	require.NoError(t, err)
	f := embedded.New(embedded.Config{Policy: dialpolicy.New(hosts), Proxy: func(*http.Request) (*url.URL, error) { return u, nil }})
	t.Cleanup(f.Close)
	require.Equal(t, world.Done, f.Deliver(t.Context(), deliveryTo("http://app.example")).Verdict)
	for _, base := range []string{"http://other.example", "http://169.254.169.254", "http://metadata.google.internal"} {
		out := f.Deliver(t.Context(), deliveryTo(base))
		require.True(t, out.NoApp, base)
		require.Contains(t, out.Reason, "this service does not connect to")
	}
	require.Len(t, proxy.got(), 1)
}

// A service that is mistaken for an app answers as a service, in either encoding. No code of an app has seen the
// message, and none will.
func TestAnswersOfAService(t *testing.T) {
	t.Parallel()
	type said struct {
		status      int
		contentType string
		body        string
		noApp       bool
	}
	const loop = `{"error":{"code":"loop_detected"}}`
	var now atomic.Pointer[said]
	app := newStubApp(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", now.Load().contentType)
		w.WriteHeader(now.Load().status)
		_, _ = io.WriteString(w, now.Load().body)
	})
	f := newForwarder(t)
	for story, s := range map[string]said{
		"it queued the message":         {202, "application/json", `{"messageId":"msg_1"}`, true},
		"in CBOR":                       {202, "application/cbor", "\xa1imessageIdemsg_1", true},
		"the message came round":        {508, "application/json; charset=utf-8", loop, true},
		"another 202":                   {202, "application/json", `{"messageId":"1"}`, false},
		"a page":                        {202, "text/html", `{"messageId":"msg_1"}`, false},
		"not JSON":                      {202, "application/json", `msg_1`, false},
		"a loop of something else":      {508, "application/json", `{}`, false},
		"an acknowledgement is nothing": {200, "application/json", `{"messageId":"msg_1"}`, false},
	} {
		now.Store(&s)
		out := f.Deliver(t.Context(), deliveryTo(app.URL))
		require.Equal(t, s.noApp, out.NoApp, story)
		if s.noApp {
			require.Equal(t, world.Unreachable, out.Verdict, story)
			require.False(t, out.Sent, story)
			require.Contains(t, out.Reason, "a world-redis service answers there, not an app", story)
		} else {
			require.Equal(t, world.Failed, out.Verdict, story)
		}
	}
	d := deliveryTo(app.URL)
	d.Hops = 3
	f.Deliver(t.Context(), d)
	got := app.got()
	require.Equal(t, []string{"1"}, got[0].header.Values("X-World-Redis-Hops"))
	require.Equal(t, []string{"4"}, got[len(got)-1].header.Values("X-World-Redis-Hops"))
}

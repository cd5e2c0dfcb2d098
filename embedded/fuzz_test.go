package embedded

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Any answer of an app has a verdict: done or rescheduled only for an acknowledgement, and a reason otherwise.
func FuzzJudge(f *testing.F) {
	for _, seed := range []struct {
		status int
		header string
		body   string
	}{
		{200, "Content-Type: application/json", `{"ok":true}`},
		{200, "Content-Type: application/cbor", "\xa1\x6etimeoutSeconds\x05"},
		{200, "Content-Type: application/json; charset=utf-8", `{"timeoutSeconds":1e300}`},
		{500, "Content-Type: application/json", `{"refused":{"code":"too_large","message":"the body"}}`},
		{401, "Www-Authenticate: World-Signature", "{}"},
		{503, "Retry-After: 3", ""},
		{429, "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT", "<html>"},
		{413, "Server: nginx", "too large"},
		{242, "Content-Type: \r", "0"},
		{302, "Location: /" + strings.Repeat("long", 2000), ""},
	} {
		f.Add(seed.status, seed.header, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, status int, headers string, body []byte) {
		a := answer{url: "http://app/flow", status: status, header: http.Header{}, body: body}
		for line := range strings.SplitSeq(headers, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			a.header.Add(name, value)
		}
		out := judge(a)
		require.GreaterOrEqual(t, out.Delay, time.Duration(0))
		switch out.Verdict {
		case world.Done, world.Reschedule:
			require.True(t, status >= 200 && status < 300)
		default:
			require.NotEmpty(t, out.Reason)
			require.Less(t, len(out.Reason), 4096)
			require.False(t, strings.ContainsAny(out.Reason, "\r\n"), "%q", out.Reason)
		}
	})
}

// For any headers and names of a message, the request of its delivery can be sent, and names its target.
func FuzzRequestHeaders(f *testing.F) {
	f.Add("__wkf_workflow_w", "msg_1", "application/json", "traceparent", "00-1-2-01")
	f.Add("__wkf_step_ü%20", "m\r\n", "a\nb", "Transfer-Encoding", "chunked")
	f.Add("", "", "", "x-vqs-message-id", "\x00\xff")
	f.Fuzz(func(t *testing.T, queue, id, contentType, name, value string) {
		d := world.Delivery{Message: world.Message{QueueName: queue, ContentType: contentType, Headers: map[string]string{name: value}, Body: []byte("b")}, MessageID: id, Attempt: 1}
		req, _, err := newRequest(t.Context(), "http://app/flow", d, nil)
		require.NoError(t, err)
		for key, values := range req.Header {
			require.Equal(t, http.CanonicalHeaderKey(key), key)
			require.Len(t, values, 1)
			require.False(t, strings.ContainsFunc(values[0], func(c rune) bool { return c < ' ' || c > '~' }), "%q", values[0])
		}
		require.Equal(t, "1", req.Header.Get(headerAttempt))
		require.Empty(t, req.Header.Get("Transfer-Encoding"))
	})
}

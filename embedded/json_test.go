package embedded_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// knowsOnlyJSON answers like Fastify.
func knowsOnlyJSON(then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != "application/json" {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusUnsupportedMediaType)
			_, _ = io.WriteString(w, `{"statusCode":415,"code":"FST_ERR_CTP_INVALID_MEDIA_TYPE","error":"Unsupported Media Type","message":"Unsupported Media Type"}`)
			return
		}
		then(w, r)
	}
}

// An app that refuses CBOR gets the message again at once, as JSON: the same message and attempt, signed anew,
// without a preloaded log. The outcome is that of the second request.
func TestAnAppThatRefusesCBORGetsJSON(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, knowsOnlyJSON(acknowledge))
	key := []byte("a key of at least 16")
	f := preloading(t, embedded.Config{
		SigningKeys: [][]byte{key}, Clock: worldtest.StoppedClock(time.UnixMilli(1700000000123)),
		Preload: func(context.Context, world.Delivery) ([]byte, world.LogSeen) {
			return []byte("log"), world.LogSeen{Events: 7}
		},
	})
	d := deliveryTo(app.URL)
	d.Kind, d.TakesPreload, d.Body = world.KindFlow, true, worldtest.Raw(t, map[string]any{"input": []byte{1, 2}})
	out := f.Deliver(t.Context(), d)
	require.Equal(t, world.Outcome{Verdict: world.Done, Status: 200, Sent: true, TookJSON: true, Seen: world.LogSeen{Events: 7}}, out)
	got := app.got()
	require.Len(t, got, 2)
	const text = `{"input":{"__type":"Uint8Array","data":"AQI="}}`
	require.Equal(t, []string{string(d.Body) + "log", text}, []string{string(got[0].body), string(got[1].body)})
	require.NotContains(t, got[1].header, "X-World-Redis-Attached")
	require.Equal(t, got[0].path, got[1].path)
	for _, name := range []string{"X-Vqs-Message-Id", "X-Vqs-Message-Attempt", "X-Vqs-Queue-Name"} {
		require.Equal(t, got[0].header.Values(name), got[1].header.Values(name), name)
	}
	part := regexp.MustCompile(`n=(\w+),v1=(\w+)$`).FindStringSubmatch(got[1].header.Get("X-World-Signature"))
	require.NotNil(t, part)
	hash := sha256.Sum256([]byte(text))
	require.Equal(t, signatureOf(key, "v1", "1700000000123", part[1], "flow", "msg_1", d.QueueName, "3", "application/json", hex.EncodeToString(hash[:])), part[2])

	d.AsJSON = true
	require.Equal(t, world.Outcome{Verdict: world.Done, Status: 200, Sent: true}, f.Deliver(t.Context(), d))
	got = app.got()
	require.Len(t, got, 3, "what is known is not tried again")
	require.Equal(t, text, string(got[2].body))
}

// What the app answers to JSON counts, and it is remembered only if the app accepted the message.
func TestWhatAnAppAnswersToJSONCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   world.Verdict
		took   bool
		reason string
	}{
		"it wants the message again": {answering(200, map[string]string{"Content-Type": "application/json"}, `{"timeoutSeconds":1}`), world.Reschedule, true, "^$"},
		"its handler throws":         {answering(500, map[string]string{"Content-Type": "application/json"}, `{"error":"boom"}`), world.Failed, false, "answered 500 .*boom"},
		"it refuses JSON, too":       {answering(415, map[string]string{"Content-Type": "text/plain"}, "no"), world.Failed, false, `answered 415 .*refuses the content type, of a message in CBOR as well as in JSON`},
		"a proxy gives up":           {answering(502, map[string]string{"Content-Type": "text/html"}, "bad gateway"), world.Unreachable, false, "a proxy in front of the app answered for it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newStubApp(t, knowsOnlyJSON(c.answer))
			out := newForwarder(t).Deliver(t.Context(), deliveryTo(app.URL))
			require.Len(t, app.got(), 2)
			require.Equal(t, c.want, out.Verdict, out.Reason)
			require.Equal(t, c.took, out.TookJSON)
			require.Regexp(t, c.reason, out.Reason)
		})
	}
}

// A message that is JSON anyway is not sent twice.
func TestARefusedMessageInJSONIsSentOnce(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, answering(415, map[string]string{"Content-Type": "text/plain"}, "no"))
	d := deliveryTo(app.URL)
	d.Body, d.ContentType = []byte(`{}`), "application/json"
	out := newForwarder(t).Deliver(t.Context(), d)
	require.Equal(t, world.Failed, out.Verdict)
	require.Len(t, app.got(), 1)
}

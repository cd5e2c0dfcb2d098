package embedded_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// signatureOf is a second implementation of docs/protocol.md.
func signatureOf(key []byte, lines ...string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(mac.Sum(nil))
}

// BR-26: every delivery says when it was signed, has its own nonce, and is signed with each of the keys over everything
// that an app relies on, as it arrives there.
func TestDeliveriesAreSignedWithEveryKey(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, acknowledge)
	newer, older := []byte("the new key of the two"), embedded.KeyFromToken("token")
	f := embedded.New(embedded.Config{SigningKeys: [][]byte{newer, older}, Clock: worldtest.StoppedClock(time.UnixMilli(1700000000123))})
	t.Cleanup(f.Close)
	d := deliveryTo(app.URL)
	d.QueueName = "__wkf_step_größe " // blanks at the end do not arrive
	d.Headers = map[string]string{"X-World-Signature": "t=1", "x-world-other": "x"}
	form := regexp.MustCompile(`^t=1700000000123,n=([A-Z2-7]{26}),v1=([0-9a-f]{64}),v1=([0-9a-f]{64})$`)
	nonces := map[string]bool{}
	for range 2 {
		require.Equal(t, world.Done, f.Deliver(t.Context(), d).Verdict)
	}
	bodyHash := sha256.Sum256(d.Body)
	for _, got := range app.got() {
		part := form.FindStringSubmatch(got.header.Get("X-World-Signature"))
		require.NotNil(t, part, got.header)
		nonces[part[1]] = true
		lines := []string{"v1", "1700000000123", part[1], "step", "msg_1", "__wkf_step_gr%C3%B6%C3%9Fe", "3", "application/cbor", hex.EncodeToString(bodyHash[:])}
		require.Equal(t, signatureOf(newer, lines...), part[2])
		require.Equal(t, signatureOf(older, lines...), part[3])
		require.Equal(t, "__wkf_step_gr%C3%B6%C3%9Fe", got.header.Get("X-Vqs-Queue-Name"))
		require.Len(t, got.header.Values("X-World-Signature"), 1)
		require.Empty(t, got.header.Get("X-World-Other"), "the sender of a message cannot speak for the service")
	}
	require.Len(t, nonces, 2)
}

func TestWithoutAKeyNothingIsSigned(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, acknowledge)
	require.Equal(t, world.Done, newForwarder(t).Deliver(t.Context(), deliveryTo(app.URL)).Verdict)
	require.NotContains(t, app.got()[0].header, "X-World-Signature")
}

// The derived key equals the one that the client derives.
func TestKeyFromToken(t *testing.T) {
	t.Parallel()
	require.Equal(t, signatureOf([]byte("token"), "world-redis delivery signature v1"), hex.EncodeToString(embedded.KeyFromToken("token")))
}

// BR-23, BR-26: keys that do not match are not the fault of a message: none is charged, and none counts as seen.
func TestRefusedSignatureIsNotCharged(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("WWW-Authenticate", "World-Signature")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"Not from the service: the signature is wrong"}`)
	})
	out := newForwarder(t).Deliver(t.Context(), deliveryTo(app.URL))
	require.Equal(t, world.Unreachable, out.Verdict)
	require.False(t, out.Sent)
	require.Equal(t, http.StatusUnauthorized, out.Status)
	require.Contains(t, out.Reason, "the app refused the signature: set the same WORKFLOW_WORLD_SIGNING_KEY or WORKFLOW_WORLD_TOKEN on both sides")
	require.Contains(t, out.Reason, "the signature is wrong")
}

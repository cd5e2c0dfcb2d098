package embedded_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/embedded"
)

// A probe finds out which app answers, and whether it is the process that registered with a nonce.
func TestProbeSaysWhoAnswers(t *testing.T) {
	t.Parallel()
	proof := func(nonce string, r *http.Request) string {
		mac := hmac.New(sha256.New, []byte(nonce))
		mac.Write([]byte("world-redis probe v1\n" + r.Header.Get("X-Vqs-Message-Id")))
		return hex.EncodeToString(mac.Sum(nil))
	}
	answer := func(status int, header map[string]string, body func(r *http.Request) string) *stubApp {
		return newStubApp(t, func(w http.ResponseWriter, r *http.Request) {
			for k, v := range header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body(r))
		})
	}
	client := map[string]string{"Content-Type": "application/json", "X-World-Redis-Client": "1"}
	text := func(s string) func(*http.Request) string { return func(*http.Request) string { return s } }
	app := answer(200, client, func(r *http.Request) string {
		return fmt.Sprintf(`{"deployment":"shop","sdk":"v5","proof":%q,"workflows":["a","b"]}`, proof("n1", r))
	})
	f := newForwarder(t)
	for nonce, proved := range map[string]bool{"n1": true, "n2": false, "": false} {
		who, known, err := f.Probe(t.Context(), app.URL, nonce)
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, embedded.Answerer{Deployment: "shop", SDK: "v5", Workflows: "a\nb", Proved: proved}, who)
	}
	for _, request := range app.got() {
		require.Equal(t, "/.well-known/workflow/v1/flow", request.path)
		require.Equal(t, "1", request.header.Get("X-World-Redis-Probe"))
		require.Empty(t, request.header.Get("X-Vqs-Queue-Name"), "an older client would take it for a message")
		require.JSONEq(t, "{}", string(request.body), "Astro and Fastify want one")
	}
	for story, other := range map[string]*stubApp{
		"an older client":   answer(400, client, text(`{"error":"Missing required headers"}`)),
		"another World":     answer(200, map[string]string{"Content-Type": "application/json"}, text(`{"deployment":"x"}`)),
		"something without": answer(200, client, text(`{}`)),
		"no JSON":           answer(200, client, text(`deployment`)),
	} {
		_, known, err := f.Probe(t.Context(), other.URL, "n1")
		require.NoError(t, err, story)
		require.False(t, known, story)
	}
	stranger := answer(401, map[string]string{"WWW-Authenticate": "World-Signature", "X-World-Redis-Client": "1"}, text(`{}`))
	_, _, err := f.Probe(t.Context(), stranger.URL, "n1")
	require.ErrorIs(t, err, embedded.ErrSignature)
	stranger.Close()
	_, _, err = f.Probe(t.Context(), stranger.URL, "n1")
	require.ErrorContains(t, err, "nothing listens there")

	signed := embedded.New(embedded.Config{SigningKeys: [][]byte{[]byte("key")}})
	t.Cleanup(signed.Close)
	_, _, err = signed.Probe(t.Context(), app.URL, "n1")
	require.NoError(t, err)
	got := app.got()
	require.NotEmpty(t, got[len(got)-1].header.Get("X-World-Signature"))
}

package embedded

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// headerSignature carries when a delivery was signed, a nonce, and one signature for each
// key: t=<unix ms>,n=<nonce>,v1=<hex>,v1=<hex> (docs/protocol.md). An app that knows any
// of the keys accepts it, so keys can be changed on either side first.
const headerSignature = "X-World-Signature"

// refusalScheme is how an app's handler says, in WWW-Authenticate of its 401, that it was
// the signature it refused. A 401 of anything else does not have it.
const refusalScheme = "World-Signature"

// tokenLabel separates the keys that sign from the tokens they are made of: a signature
// tells nothing about a token.
const tokenLabel = "world-redis delivery signature v1"

// KeyFromToken derives the key to sign with from a token of the service, so that whoever
// shares a token shares a key, too: HMAC-SHA-256 of a fixed text under the token.
func KeyFromToken(token string) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(tokenLabel))
	return mac.Sum(nil)
}

// sign adds the signature to a request whose other headers stand. Without a key it adds
// nothing.
func sign(req *http.Request, kind string, body []byte, keys [][]byte, now time.Time) {
	if len(keys) == 0 {
		return
	}
	moment, nonce := strconv.FormatInt(now.UnixMilli(), 10), rand.Text()
	signed := signedText(req.Header, kind, moment, nonce, body)
	var b strings.Builder
	b.WriteString("t=" + moment + ",n=" + nonce)
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(signed))
		b.WriteString(",v1=" + hex.EncodeToString(mac.Sum(nil)))
	}
	req.Header.Set(headerSignature, b.String())
}

// signedText is what is signed, a line each. No line can hold a line break: header values
// cannot, and the body stands as its hash.
func signedText(h http.Header, kind, moment, nonce string, body []byte) string {
	hash := sha256.Sum256(body)
	// As they arrive: HTTP does not keep blanks around a value.
	sent := func(name string) string { return textproto.TrimString(h.Get(name)) }
	lines := []string{
		"v1", moment, nonce, kind, sent(headerMessage), sent(headerQueue), sent(headerAttempt), sent("Content-Type"),
		hex.EncodeToString(hash[:]),
	}
	if attached := sent(headerAttached); attached != "" {
		lines = append(lines, attached)
	}
	return strings.Join(lines, "\n")
}

// isSignatureRefusal reports whether an answer comes from the client's check of the
// signature: then nothing of the app has seen the message.
func isSignatureRefusal(a answer) bool {
	scheme, _, _ := strings.Cut(a.header.Get("WWW-Authenticate"), " ")
	return a.status == http.StatusUnauthorized && strings.EqualFold(scheme, refusalScheme)
}

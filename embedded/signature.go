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

// headerSignature has the time of signing, a nonce, and one signature per key: t=<unix
// ms>,n=<nonce>,v1=<hex>,v1=<hex> (docs/protocol.md). An app accepts it if it knows any of the keys, so keys can be
// changed on either side first.
const headerSignature = "X-World-Signature"

// refusalScheme is in WWW-Authenticate of the 401 by which an app's handler refuses a signature. No other 401 has it.
const refusalScheme = "World-Signature"

// tokenLabel makes the signing keys differ from the tokens that they are derived from, so a signature reveals nothing
// about a token.
const tokenLabel = "world-redis delivery signature v1"

// KeyFromToken derives a signing key from a token of the service: HMAC-SHA-256 of a fixed text under the token.
// Apps with the same token have the same key.
func KeyFromToken(token string) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(tokenLabel))
	return mac.Sum(nil)
}

// sign adds the signature to a request whose other headers are set. Without a key it adds nothing.
func sign(req *http.Request, kind string, body []byte, keys [][]byte, now time.Time) {
	if len(keys) == 0 {
		return
	}
	timestamp, nonce := strconv.FormatInt(now.UnixMilli(), 10), rand.Text()
	signed := signedText(req.Header, kind, timestamp, nonce, body)
	var b strings.Builder
	b.WriteString("t=" + timestamp + ",n=" + nonce)
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(signed))
		b.WriteString(",v1=" + hex.EncodeToString(mac.Sum(nil)))
	}
	req.Header.Set(headerSignature, b.String())
}

// signedText is the signed text, with one item per line. No item contains a line break: header values cannot, and the
// body is hashed.
func signedText(h http.Header, kind, timestamp, nonce string, body []byte) string {
	hash := sha256.Sum256(body)
	// As received: HTTP drops spaces around a value.
	sent := func(name string) string { return textproto.TrimString(h.Get(name)) }
	lines := []string{
		"v1", timestamp, nonce, kind, sent(headerMessage), sent(headerQueue), sent(headerAttempt), sent("Content-Type"),
		hex.EncodeToString(hash[:]),
	}
	if length := sent(headerPreloaded); length != "" {
		lines = append(lines, length)
	}
	return strings.Join(lines, "\n")
}

// isSignatureRefusal reports whether an answer comes from the client's check of the signature. No code of the app has
// seen the message then.
func isSignatureRefusal(a answer) bool {
	scheme, _, _ := strings.Cut(a.header.Get("WWW-Authenticate"), " ")
	return a.status == http.StatusUnauthorized && strings.EqualFold(scheme, refusalScheme)
}

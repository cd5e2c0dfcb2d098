package embedded

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
)

// The headers that describe a delivery to the app's handler.
const (
	headerQueue   = "X-Vqs-Queue-Name"
	headerMessage = "X-Vqs-Message-Id"
	headerAttempt = "X-Vqs-Message-Attempt"
)

const routePrefix = "/.well-known/workflow/v1/"

// endpoint returns the address of the app's route for a kind of message. It keeps the base address's path, since an
// app can be mounted below one.
func endpoint(baseURL string, kind world.Kind) (string, error) {
	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("the app's address %.200q is not an http or https address; set its WORKFLOW_BASE_URL", baseURL)
	}
	switch kind {
	case world.KindFlow, world.KindStep:
		return u.Scheme + "://" + u.Host + u.EscapedPath() + routePrefix + string(kind), nil
	default:
		return "", fmt.Errorf("there is no route for messages of kind %.40q", kind)
	}
}

// newRequest returns the request of a delivery, and its body.
func newRequest(ctx context.Context, target string, d world.Delivery, preload []byte) (*http.Request, []byte, error) {
	header := http.Header{}
	body := withPreload(header, d.Body, preload)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("the app's address %.200q is not usable: %w", target, err)
	}
	req.Header = header
	for name, value := range d.Headers {
		if mayForward(name) {
			req.Header.Set(name, headerValue(value))
		}
	}
	contentType := d.ContentType
	if contentType == "" {
		contentType = "application/cbor"
	}
	req.Header.Set("Content-Type", headerValue(contentType))
	req.Header.Set("Accept", "application/json, application/cbor")
	req.Header.Set("User-Agent", "world-redis")
	req.Header.Set(headerQueue, headerValue(strings.ReplaceAll(d.QueueName, "%", "%25")))
	req.Header.Set(headerMessage, headerValue(d.MessageID))
	req.Header.Set(headerAttempt, strconv.Itoa(d.Attempt))
	setTarget(req.Header, d)
	req.Header.Set(world.HeaderHops, strconv.Itoa(d.Hops+1))
	return req, body, nil
}

// mayForward reports whether a header of the queue() call may be set on the request. Headers that control the
// connection, identify the sender, or belong to this service may not.
func mayForward(name string) bool {
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !isTokenChar(c) }) {
		return false
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	switch name {
	case "Host", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Content-Length", "Content-Type", "Content-Encoding", "Accept", "Accept-Encoding", "Expect", "User-Agent",
		"Cookie", "Authorization":
		return false
	default:
		return !strings.HasPrefix(name, "X-Vqs-") && !strings.HasPrefix(name, "X-World-")
	}
}

// isTokenChar implements the token rule of RFC 9110.
func isTokenChar(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

// headerValue makes a text safe for a header. It percent-encodes bytes outside printable ASCII, including line
// breaks. A percent sign is left as it is; if the receiver decodes the value, as for the queue name, the caller
// encodes it first.
func headerValue(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

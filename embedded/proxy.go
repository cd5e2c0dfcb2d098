package embedded

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// headerClient is on every answer of the client. An answer without it comes from an older client, or from something
// in front of the handler.
const headerClient = "X-World-Redis-Client"

// via returns the proxy of a request, without its password; empty if there is none.
func (f *Forwarder) via(req *http.Request) string {
	if f.proxy == nil {
		return ""
	}
	u, err := f.proxy(req)
	if err != nil || u == nil {
		return "" // the request fails with the same error
	}
	return u.Redacted()
}

// through returns an address, with the proxy in front of it if there is one.
func through(target, via string) string {
	if via == "" {
		return target
	}
	return target + " through the proxy " + via
}

// madeBetween reports whether something between this service and the app made an answer, and describes it. seen is
// false if the app certainly has not seen the request.
func madeBetween(a answer) (words string, seen, ok bool) {
	switch {
	case a.status == http.StatusProxyAuthRequired:
		if a.via == "" {
			return "a proxy between the service and the app requires credentials", false, true
		}
		return "the proxy requires credentials: set them in WORKFLOW_WORLD_PROXY (http://user:password@host:port)", false, true
	case isOfClient(a):
		return "", false, false
	case a.via != "":
		seen = a.status >= http.StatusInternalServerError
		return "this answer is not from the app's handler but from the proxy, or from a server that it reached instead of the app; " +
			"allow the proxy to reach the app, or change WORKFLOW_WORLD_PROXY", seen, true
	case a.status == http.StatusGatewayTimeout:
		return "a proxy in front of the app did not wait for its answer; give it a longer time limit than the longest step", true, true
	case a.status == http.StatusBadGateway, a.status == http.StatusServiceUnavailable && looksLikeGateway(a):
		return "a proxy in front of the app answered for it; does the app run?", true, true
	default:
		return "", false, false
	}
}

// isOfClient reports whether the client in the app made an answer: it has the client's header, or the form of an
// older client's answers.
func isOfClient(a answer) bool {
	if a.header.Get(headerClient) != "" {
		return true
	}
	switch a.status {
	case http.StatusOK:
		_, ok := readAcknowledgement(a)
		return ok
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusInternalServerError:
		var refusal struct {
			Error any `json:"error"`
		}
		mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
		return err == nil && mediaType == "application/json" && json.Unmarshal(a.body, &refusal) == nil && refusal.Error != nil
	default:
		return false
	}
}

// gatewayWords are parts of the pages that common proxies send when the server behind them does not answer: nginx,
// HAProxy, Envoy, Traefik, Apache, Varnish, and cloud load balancers.
var gatewayWords = []string{
	"<center>nginx", "<center>openresty", "no server is available to handle", "upstream connect error", "no healthy upstream",
	"no available server", "temporarily unable to service your request", "backend fetch failed", "<center><h1>503 service temporarily unavailable",
}

// looksLikeGateway reports whether an answer has the headers or the page of a proxy.
func looksLikeGateway(a answer) bool {
	for name := range a.header {
		if name == "Via" || strings.HasPrefix(name, "Proxy-") {
			return true
		}
	}
	page := strings.ToLower(string(a.body[:min(len(a.body), maxPage)]))
	for _, words := range gatewayWords {
		if strings.Contains(page, words) {
			return true
		}
	}
	return false
}

// maxPage is how much of a page is searched, in bytes.
const maxPage = 4 << 10

// complaintBetween describes in one line what was received instead of an answer of the app.
func complaintBetween(a answer, words string) string {
	return fmt.Sprintf("%s: %s", described(a), words)
}

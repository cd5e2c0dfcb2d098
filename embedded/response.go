package embedded

import (
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// answer is an app's answer to a delivery.
type answer struct {
	url    string
	status int
	header http.Header
	body   []byte
	via    string // the proxy of ours on the way; empty if none
}

// acknowledgement is the only valid answer: {"ok":true}, or {"timeoutSeconds":n} to get the message again after n
// seconds. Further fields are ignored.
type acknowledgement struct {
	OK             any `json:"ok" cbor:"ok"`
	TimeoutSeconds any `json:"timeoutSeconds" cbor:"timeoutSeconds"`
}

// complaintOfApp is the client's answer when the SDK's handler threw.
type complaintOfApp struct {
	Refused struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"refused"`
}

// tooLarge reads the client's answer that the run has a value too large for the service.
func tooLarge(a answer) (reason string, ok bool) {
	mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if a.status != http.StatusInternalServerError || err != nil || mediaType != "application/json" {
		return "", false
	}
	var c complaintOfApp
	if json.Unmarshal(a.body, &c) != nil || c.Refused.Code != string(world.CodeTooLarge) || c.Refused.Message == "" {
		return "", false
	}
	return strings.ToValidUTF8(c.Refused.Message[:min(len(c.Refused.Message), shownRefusal)], ""), true
}

// shownRefusal is how much of a refusal is kept, in bytes; the service's own sentence has about 80.
const shownRefusal = 1000

// judge decides from an answer what happens to the message (contract §5.4).
func judge(a answer) world.Outcome {
	out := world.Outcome{Verdict: world.Failed, Status: a.status, Sent: true}
	if isSignatureRefusal(a) {
		// No code of the app has seen the message, and a wrong key affects every message to this app. So it counts as
		// if the app were unreachable: no attempt is charged, and the messages wait until the keys match.
		return world.Outcome{Verdict: world.Unreachable, Status: a.status, Reason: complaint(a)}
	}
	if reason, ok := misdirection(a); ok {
		return world.Outcome{Verdict: world.Unreachable, Status: a.status, Reason: reason, Misdirected: true}
	}
	if isOfService(a) {
		return world.Outcome{Verdict: world.Unreachable, Status: a.status, Reason: complaint(a), NoApp: true}
	}
	if words, seen, ok := madeBetween(a); ok {
		return world.Outcome{Verdict: world.Unreachable, Status: a.status, Reason: complaintBetween(a, words), Sent: seen, Between: true}
	}
	if reason, ok := tooLarge(a); ok {
		out.Verdict, out.Reason = world.TooLarge, reason
		return out
	}
	if a.status < 200 || a.status > 299 {
		if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
			out.Delay = retryAfter(a.header.Get("Retry-After"), time.Now())
		}
		out.Reason = complaint(a)
		return out
	}
	ack, ok := readAcknowledgement(a)
	if !ok {
		out.Reason = complaint(a)
		return out
	}
	if seconds, ok := number(ack.TimeoutSeconds); ok && seconds >= 0 {
		out.Verdict, out.Delay = world.Reschedule, world.MaxDelay
		if seconds < world.MaxDelay.Seconds() {
			out.Delay = time.Duration(math.Ceil(seconds*1000)) * time.Millisecond
		}
		return out
	}
	if ack.OK == true {
		out.Verdict = world.Done
		return out
	}
	out.Reason = complaint(a)
	return out
}

func readAcknowledgement(a answer) (ack acknowledgement, ok bool) {
	mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || len(a.body) > maxBody {
		return ack, false
	}
	switch {
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"):
		return ack, json.Unmarshal(a.body, &ack) == nil
	case mediaType == "application/cbor" || strings.HasSuffix(mediaType, "+cbor"):
		return ack, cbor.Unmarshal(a.body, &ack) == nil
	default:
		return ack, false
	}
}

// number reads a number of either encoding.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, !math.IsNaN(n)
	case uint64:
		return float64(n), true
	case int64:
		return float64(n), true
	default:
		return 0, false
	}
}

// retryAfter reads both forms of the header: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if seconds > 0 && seconds < world.MaxDelay.Seconds() {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// shownBody is how much of an answer a complaint quotes, in bytes.
const shownBody = 200

// complaint describes in one line what was received instead of an acknowledgement, with a hint.
func complaint(a answer) string { return described(a) + ": " + hint(a) }

// described quotes an answer.
func described(a answer) string {
	body := a.body[:min(len(a.body), shownBody)]
	quoted := "an empty body"
	if len(body) > 0 {
		quoted = "the body " + strconv.Quote(strings.ToValidUTF8(string(body), "?"))
	}
	contentType := shownHeader(a.header.Get("Content-Type"))
	if contentType == "" {
		contentType = "no content type"
	}
	return fmt.Sprintf("POST %s answered %d (%s) with %s", through(a.url, a.via), a.status, contentType, quoted)
}

// shownHeader returns an answer's header for a log line: it may be long, and contain control characters.
func shownHeader(value string) string { return headerValue(value[:min(len(value), shownBody)]) }

// hint returns the likely cause.
func hint(a answer) string {
	switch {
	case isOfService(a):
		return "a world-redis service answers there, not an app; correct the address (WORKFLOW_BASE_URL)"
	case isSignatureRefusal(a):
		return "the app refused the signature: set the same WORKFLOW_WORLD_SIGNING_KEY or WORKFLOW_WORLD_TOKEN on both sides, and compare the clocks"
	case a.status >= 300 && a.status <= 399:
		return fmt.Sprintf("redirects are not followed (to %q); exclude /.well-known/workflow/ from the middleware that redirects, or correct WORKFLOW_BASE_URL",
			shownHeader(a.header.Get("Location")))
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return "something in front of the handler requires authentication; exclude /.well-known/workflow/ from authentication"
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		return "the workflow routes do not exist there; is WORKFLOW_BASE_URL the right address and path, and was the app built with the workflow plugin?"
	case a.status == http.StatusBadRequest:
		return "the handler does not accept this message; does another app or another SDK version listen there?"
	case a.status == http.StatusUnsupportedMediaType:
		return "it refuses the content type, of a message in CBOR as well as in JSON; something in front of the handler must let application/json pass to /.well-known/workflow/"
	case a.status == http.StatusRequestEntityTooLarge:
		return "something in front of the handler limits the size of a request"
	case a.status == http.StatusTooManyRequests:
		return "the app is limiting requests"
	case a.status >= 500:
		return "the handler or a proxy before it failed; see the app's log"
	case strings.HasPrefix(a.header.Get("Content-Type"), "text/html"):
		return "a web page is not an acknowledgement; a login page or a catch-all route answers for the handler"
	default:
		return `an acknowledgement is {"ok":true} or {"timeoutSeconds":n}; is this the address of the workflow handler?`
	}
}

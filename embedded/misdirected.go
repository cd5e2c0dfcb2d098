package embedded

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/world-redis/world-redis"
)

// headerDeployment is the deployment that the target of a delivery has registered as, percent-encoded like the queue
// name. It is not signed: it can only make an app refuse a message.
const headerDeployment = "X-World-Redis-Deployment"

// headerWorkflow says that the target has registered with the workflow of the message. An app without it then refuses
// the message, for which the SDK would fail its run.
const headerWorkflow = "X-World-Redis-Workflow"

// longestTarget bounds the header, since servers limit all headers together, Node to 16 KiB. A longer id is not checked.
const longestTarget = 2048

// shownDeployment is how much of a deployment's id a reason quotes, in bytes.
const shownDeployment = 100

// setTarget says for which deployment a delivery is.
func setTarget(h http.Header, d world.Delivery) {
	target := headerValue(strings.ReplaceAll(d.Target, "%", "%25"))
	if target == "" || len(target) > longestTarget {
		return
	}
	h.Set(headerDeployment, target)
	if d.HasWorkflow {
		h.Set(headerWorkflow, "registered")
	}
}

// misdirection reports whether the client in an app of another deployment refused a delivery, and describes it. No code
// of that app has seen the message.
func misdirection(a answer) (reason string, ok bool) {
	if a.status != http.StatusMisdirectedRequest || a.header.Get(headerClient) == "" {
		return "", false
	}
	var said struct {
		Error      string `json:"error"`
		Deployment string `json:"deployment"`
	}
	if json.Unmarshal(a.body, &said) != nil || said.Error == "" {
		return "", false
	}
	return fmt.Sprintf("POST %s answered 421: an app of deployment %q answers there: %s", through(a.url, a.via),
		cut(said.Deployment, shownDeployment), cut(said.Error, shownRefusal)), true
}

// cut returns the beginning of a text from an app, for a log line.
func cut(text string, most int) string { return strings.ToValidUTF8(text[:min(len(text), most)], "") }

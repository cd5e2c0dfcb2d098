package embedded

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// serviceAnswer is what a service answers to a delivery: it takes it for a message for its own queue, or refuses it since it
// came round too often.
type serviceAnswer struct {
	MessageID string `json:"messageId" cbor:"messageId"`
	Error     struct {
		Code string `json:"code" cbor:"code"`
	} `json:"error" cbor:"error"`
}

// isOfService reports whether a service such as this one answered, and not an app.
func isOfService(a answer) bool {
	if a.status != http.StatusAccepted && a.status != http.StatusLoopDetected || len(a.body) > maxBody {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	var said serviceAnswer
	switch {
	case err != nil:
	case mediaType == "application/json":
		err = json.Unmarshal(a.body, &said)
	case mediaType == "application/cbor":
		err = cbor.Unmarshal(a.body, &said)
	}
	if err != nil {
		return false
	}
	return a.status == http.StatusAccepted && strings.HasPrefix(said.MessageID, "msg_") || said.Error.Code == string(world.CodeLoopDetected)
}

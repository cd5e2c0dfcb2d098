package embedded

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// serviceAnswer is a service's answer to a delivery. The service takes the delivery for a message for its own queue,
// or refuses it because it passed through too many services.
type serviceAnswer struct {
	MessageID string `json:"messageId" cbor:"messageId"`
	Error     struct {
		Code string `json:"code" cbor:"code"`
	} `json:"error" cbor:"error"`
}

// isOfService reports whether a world-redis service answered, and not an app.
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

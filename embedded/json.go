package embedded

import (
	"net/http"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// Frameworks such as Fastify answer 415 to a content type that they have no parser for, before any code of the app
// runs. They all know JSON.

const (
	typeCBOR = "application/cbor"
	typeJSON = "application/json"
)

func isCBOR(d world.Delivery) bool { return d.ContentType == "" || d.ContentType == typeCBOR }

// refusesCBOR reports whether the answer to a message in CBOR is that its content type is not supported. The client
// never answers so. It does not matter whether the app or a proxy does: nothing has handled the message.
func refusesCBOR(d world.Delivery, out world.Outcome) bool {
	return out.Status == http.StatusUnsupportedMediaType && isCBOR(d)
}

// asJSON returns the delivery of the same message as JSON. A message that cannot be converted stays as it is.
func asJSON(d world.Delivery) world.Delivery {
	if !isCBOR(d) {
		return d
	}
	text, err := wire.MessageJSON(d.Body)
	if err != nil {
		return d // malformed; the API checks messages, so nobody has sent it
	}
	d.Body, d.ContentType, d.TakesPreload, d.Preload = text, typeJSON, false, nil
	return d
}

// again returns the outcome of the second request, as JSON.
func again(first, second world.Outcome) world.Outcome {
	second.Seen = first.Seen // the log was read before the first request
	switch second.Verdict {
	case world.Done, world.Reschedule, world.TooLarge:
		second.TookJSON = true
	}
	return second
}

package httpapi

import (
	"math"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

// message reads the message of a queue() call: a value, which is delivered as CBOR, or a
// JSON document in a text, which is delivered as it stands. The app of SDK v5 may have
// code of its own in front of the SDK's handler that looks into messages and knows JSON.
func (o *object) message(m *world.Message, kind world.Kind) error {
	value, document := o.get("message"), o.text("jsonMessage", math.MaxInt)
	switch {
	case o.err != nil:
		return o.err
	case value == nil && document == "":
		return refuse.Invalid("%s.message is missing", o.path)
	case value != nil && document != "":
		return refuse.Invalid("%s has both message and jsonMessage", o.path)
	case value != nil:
		return o.codec.describe(m, kind, value)
	}
	value, err := wire.FromJSON([]byte(document))
	if err != nil {
		return refuse.Invalid("%s.jsonMessage is not one well-formed JSON value", o.path)
	}
	if err := o.codec.describe(m, kind, value); err != nil {
		return err
	}
	m.Body, m.ContentType = []byte(document), typeJSON
	return nil
}

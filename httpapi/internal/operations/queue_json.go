package operations

import (
	"math"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

// readMessage reads the message of a queue() call: a value, which is delivered in CBOR, or a
// JSON document in a text, which is delivered unchanged. An app with SDK v5 may have its own
// code in front of the SDK's handler, and that reads messages as JSON.
func readMessage(o *input.Object, m *world.Message, kind world.Kind) error {
	value, document := o.Get("message"), o.Text("jsonMessage", math.MaxInt)
	switch {
	case o.Err != nil:
		return o.Err
	case value == nil && document == "":
		return refuse.Invalid("%s.message is missing", o.Path)
	case value != nil && document != "":
		return refuse.Invalid("%s has both message and jsonMessage", o.Path)
	case value != nil:
		return describe(m, kind, value)
	}
	value, err := wire.FromJSON([]byte(document))
	if err != nil {
		return refuse.Invalid("%s.jsonMessage is not one well-formed JSON value", o.Path)
	}
	if err := describe(m, kind, value); err != nil {
		return err
	}
	m.Body, m.ContentType = []byte(document), input.TypeJSON
	return nil
}

// Package input reads what an operation is called with: parameters of the path and the query, and the body as one data item.
package input

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// The media types of data items.
const (
	TypeCBOR = "application/cbor"
	TypeJSON = "application/json"
)

// CBOR checks the data items of requests.
type CBOR struct{ cbor cbor.DecMode }

// NewCBOR returns a CBOR with the limits of this service.
func NewCBOR() (CBOR, error) {
	mode, err := newCBORMode()
	if err != nil {
		return CBOR{}, fmt.Errorf("cbor limits: %w", err)
	}
	return CBOR{cbor: mode}, nil
}

// newCBORMode sets the limits of decoding. The limit of a body bounds sizes; nesting has a limit of its own,
// because it takes stack.
func newCBORMode() (cbor.DecMode, error) {
	return cbor.DecOptions{
		MaxNestedLevels:  cboritem.MaxNesting,
		MaxArrayElements: 1 << 26,
		MaxMapPairs:      1 << 26,
		UTF8:             cbor.UTF8DecodeInvalid,
	}.DecMode()
}

// Item returns a body if it is one well-formed CBOR item.
func (d CBOR) Item(body []byte) (world.Raw, error) {
	if len(body) == 0 {
		return nil, refuse.Invalid("the body is empty")
	}
	if cboritem.Plain(body) {
		return body, nil
	}
	if err := d.cbor.Wellformed(body); err != nil {
		return nil, refuse.Invalid("the body is not one well-formed CBOR item: %v", err)
	}
	return body, nil
}

package asynqbridge

import (
	"encoding/binary"
	"errors"

	"github.com/world-redis/world-redis"
)

// Decode reads a message as Encode made it: a protocol buffer whose field 2 is ours.
func Decode(stored string) (world.Message, error) {
	const payload, varint, fixed64, sized, fixed32 = 2, 0, 1, 2, 5
	b := []byte(stored)
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return world.Message{}, errUndecodable
		}
		b = b[n:]
		var size uint64
		switch tag & 7 {
		case varint:
			if _, n = binary.Uvarint(b); n <= 0 {
				return world.Message{}, errUndecodable
			}
			size = uint64(n)
		case fixed64:
			size = 8
		case fixed32:
			size = 4
		case sized:
			if size, n = binary.Uvarint(b); n <= 0 {
				return world.Message{}, errUndecodable
			}
			b = b[n:]
		default:
			return world.Message{}, errUndecodable
		}
		if size > uint64(len(b)) {
			return world.Message{}, errUndecodable
		}
		if tag == payload<<3|sized {
			return decodeEnvelope(b[:size])
		}
		b = b[size:]
	}
	return world.Message{}, errUndecodable
}

var errUndecodable = errors.New("the stored message cannot be read")

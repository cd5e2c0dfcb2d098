// Package cboritem reads and writes CBOR data items (RFC 8949) without reflection: calls, answers and records have
// few shapes, and payloads are passed on unchanged. Reflection took a third of an event's CPU
// (docs/decisions/cbor-by-hand.md).
package cboritem

import (
	"encoding/binary"
	"errors"
)

// ErrMalformed is returned for bytes that are not a well-formed item.
var ErrMalformed = errors.New("malformed CBOR")

// MaxNesting limits the nesting of arrays and maps, like MaxNestedLevels of cbor.DecOptions: each level takes stack.
const MaxNesting = 512

// The major types, in the upper three bits of an item's first byte.
const (
	MajorUint   = 0
	MajorNegint = 1
	MajorBytes  = 2
	MajorText   = 3
	MajorArray  = 4
	MajorMap    = 5
	MajorTag    = 6
	MajorSimple = 7
)

// First bytes of items. Most of them are the whole item.
const (
	EmptyMap  = MajorMap << 5
	False     = 0xf4
	True      = 0xf5
	Null      = 0xf6
	Undefined = 0xf7
	Float64   = 0xfb
	Break     = 0xff // ends an item of indefinite length
)

// Head is the head of an item: its major type, the five bits after it, and the following number, which is a length, a
// value, or the bits of a float.
type Head struct {
	Major, Info byte
	N           uint64
}

// Indefinite reports whether the item has no length and ends with a break. The break itself has this form, too.
func (h Head) Indefinite() bool { return h.Info == 31 }

// ReadHead reads the head at the start of b and returns the rest of b.
func ReadHead(b []byte) (h Head, rest []byte, err error) {
	if len(b) == 0 {
		return h, nil, ErrMalformed
	}
	h.Major, h.Info = b[0]>>5, b[0]&31
	b = b[1:]
	switch {
	case h.Info < 24:
		h.N = uint64(h.Info)
		return h, b, nil
	case h.Info == 31:
		return h, b, nil
	case h.Info > 27:
		return h, nil, ErrMalformed
	}
	size := 1 << (h.Info - 24)
	if len(b) < size {
		return h, nil, ErrMalformed
	}
	for _, x := range b[:size] {
		h.N = h.N<<8 | uint64(x)
	}
	return h, b[size:], nil
}

// MajorOf returns the major type of an item that is not empty.
func MajorOf(item []byte) byte { return item[0] >> 5 }

// AppendHead appends the head of an item in its shortest form: its major type, and a value or a length.
func AppendHead(b []byte, major byte, n uint64) []byte {
	m := major << 5
	switch {
	case n < 24:
		return append(b, m|byte(n))
	case n <= 0xff:
		return append(b, m|24, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(b, m|25), uint16(n))
	case n <= 0xffffffff:
		return binary.BigEndian.AppendUint32(append(b, m|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, m|27), n)
	}
}

// AppendInt appends an integer.
func AppendInt(b []byte, n int64) []byte {
	if n < 0 {
		return AppendHead(b, MajorNegint, uint64(-(n + 1)))
	}
	return AppendHead(b, MajorUint, uint64(n))
}

// AppendText appends a text.
func AppendText(b []byte, s string) []byte {
	return append(AppendHead(b, MajorText, uint64(len(s))), s...)
}

// AppendBytes appends a byte string.
func AppendBytes(b, p []byte) []byte {
	return append(AppendHead(b, MajorBytes, uint64(len(p))), p...)
}

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, True)
	}
	return append(b, False)
}

package world

import "encoding/binary"

// AppendItemHead appends the head of a CBOR item in its shortest form: its major type (0 to 7) and the
// number that goes with that, a value or a length (RFC 8949, section 3).
func AppendItemHead(b []byte, major byte, n uint64) []byte {
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

// AppendItemInt appends a whole number as a CBOR item.
func AppendItemInt(b []byte, n int64) []byte {
	const unsigned, negative = 0, 1
	if n < 0 {
		return AppendItemHead(b, negative, uint64(-(n + 1)))
	}
	return AppendItemHead(b, unsigned, uint64(n))
}

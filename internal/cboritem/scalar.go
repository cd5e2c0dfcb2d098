package cboritem

import "math"

// The functions below read single items, which must be well-formed.

// Absent reports whether an item means that a field is absent: JavaScript's undefined is encoded as its own value,
// and null means the same in an optional field.
func Absent(item []byte) bool {
	return len(item) == 0 || item[0] == Undefined || item[0] == Null
}

// PlainText returns the bytes of a text in one piece, as nearly all texts are.
func PlainText(item []byte) (text []byte, ok bool) {
	h, rest, err := ReadHead(item)
	return rest, err == nil && h.Major == MajorText && !h.Indefinite() && h.N == uint64(len(rest))
}

// TextOf reads a text. Bytes that are not UTF-8 are kept, because JavaScript strings with lone surrogates are encoded
// that way.
func TextOf(item []byte) (string, bool) {
	if text, ok := PlainText(item); ok {
		return string(text), true
	}
	h, rest, err := ReadHead(item)
	if err != nil || h.Major != MajorText {
		return "", false
	}
	text, rest, err := Content(h, rest)
	if err != nil || len(rest) > 0 {
		return "", false
	}
	return string(text), true
}

// Content reads the bytes of a text or byte string with head h, which precedes b. The content is a slice of b unless
// it comes in chunks.
func Content(h Head, b []byte) (content, rest []byte, err error) {
	if !h.Indefinite() {
		if h.N > uint64(len(b)) {
			return nil, nil, ErrMalformed
		}
		return b[:h.N], b[h.N:], nil
	}
	for len(b) > 0 && b[0] != Break {
		chunk, after, err := ReadHead(b)
		if err != nil || chunk.Major != h.Major || chunk.Indefinite() || chunk.N > uint64(len(after)) {
			return nil, nil, ErrMalformed
		}
		content = append(content, after[:chunk.N]...)
		b = after[chunk.N:]
	}
	if len(b) == 0 {
		return nil, nil, ErrMalformed
	}
	return content, b[1:], nil
}

// BytesOf returns the content of a byte string in one piece.
func BytesOf(item []byte) (content []byte, ok bool) {
	h, rest, err := ReadHead(item)
	return rest, err == nil && h.Major == MajorBytes && !h.Indefinite() && h.N == uint64(len(rest))
}

// NumberOf reads an integer or a float of any width. It refuses a negative integer below -2^63.
func NumberOf(item []byte) (float64, bool) {
	h, rest, err := ReadHead(item)
	if err != nil || len(rest) > 0 {
		return 0, false
	}
	switch {
	case h.Major == MajorSimple:
		return FloatOf(h)
	case h.Indefinite():
		return 0, false
	case h.Major == MajorUint:
		return float64(h.N), true
	case h.Major == MajorNegint && h.N <= math.MaxInt64:
		return float64(-1 - int64(h.N)), true
	default:
		return 0, false
	}
}

// WholeOf reads an integer. JavaScript encoders write integers from 2^32 on as floats, so it accepts those, too, as
// long as floats are exact.
func WholeOf(item []byte) (int64, bool) {
	h, rest, err := ReadHead(item)
	if err != nil || len(rest) > 0 {
		return 0, false
	}
	switch {
	case h.Major != MajorUint && h.Major != MajorNegint:
		const exact = 1 << 53
		f, ok := FloatOf(h)
		if !ok || f != float64(int64(f)) || f > exact || f < -exact {
			return 0, false
		}
		return int64(f), true
	case h.N > math.MaxInt64 || h.Indefinite():
		return 0, false
	case h.Major == MajorNegint:
		return -1 - int64(h.N), true
	default:
		return int64(h.N), true
	}
}

// BoolOf reads a boolean.
func BoolOf(item []byte) (value, ok bool) {
	if len(item) != 1 || (item[0] != True && item[0] != False) {
		return false, false
	}
	return item[0] == True, true
}

// Untagged removes the tag of a tagged item.
func Untagged(item []byte) (tag uint64, content []byte, ok bool) {
	h, rest, err := ReadHead(item)
	if err != nil || h.Major != MajorTag || len(rest) == 0 {
		return 0, nil, false
	}
	return h.N, rest, true
}

// FloatOf returns the float of a head, of any of the three widths.
func FloatOf(h Head) (float64, bool) {
	if h.Major != MajorSimple {
		return 0, false
	}
	switch h.Info {
	case 25:
		return halfFloat(uint16(h.N)), true
	case 26:
		return float64(math.Float32frombits(uint32(h.N))), true
	case 27:
		return math.Float64frombits(h.N), true
	default:
		return 0, false
	}
}

// halfFloat widens an IEEE 754 half: 1 sign bit, 5 of exponent, 10 of fraction.
func halfFloat(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&0x3ff)
	var f float64
	switch {
	case exponent == 0:
		f = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction != 0: // NaN: the bits are kept, as in the library
		return float64(math.Float32frombits(uint32(h&0x8000)<<16 | 0x7fc00000 | uint32(h&0x3ff)<<13))
	case exponent == 31:
		f = math.Inf(1)
	default:
		f = math.Ldexp(fraction+1024, exponent-25)
	}
	if h>>15 == 1 {
		return -f
	}
	return f
}

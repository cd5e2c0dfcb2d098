package wire

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// short has the letter of the control characters that have one in JSON.
var short = [0x20]byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// appendJSONText appends a JSON string as JavaScript prints it; bytes that are not UTF-8 become U+FFFD.
func appendJSONText(out, text []byte) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for len(text) > 0 {
		b := text[0]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text)
			out = utf8.AppendRune(out, r)
			text = text[size:]
			continue
		}
		switch {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b < 0x20 && short[b] != 0:
			out = append(out, '\\', short[b])
		case b < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			out = append(out, b)
		}
		text = text[1:]
	}
	return append(out, '"')
}

// appendJSONFloat appends a number as JavaScript prints it, except that -0 keeps its sign; NaN and the infinities
// become null.
func appendJSONFloat(out []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(out, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	out = strconv.AppendFloat(out, f, format, -1, 64)
	if n := len(out); format == 'e' && out[n-4] == 'e' && out[n-2] == '0' { // e-07: Go's exponents have two digits at least
		out = append(out[:n-2], out[n-1])
	}
	return out
}

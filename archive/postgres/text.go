package postgres

import (
	"strings"
	"unicode/utf8"
)

// A text of PostgreSQL holds any character but NUL, and nothing that is not UTF-8. Ids have neither, but names and tokens may. So
// a NUL is written as \0, a byte that is not UTF-8 as \x and two digits, and a backslash twice. Different texts stay different.

const hexDigits = "0123456789abcdef"

// toText returns s as PostgreSQL can hold it.
func toText(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\x00\\") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x`)
			b.WriteByte(hexDigits[s[0]>>4])
			b.WriteByte(hexDigits[s[0]&15])
		case r == 0:
			b.WriteString(`\0`)
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// fromText returns what toText was called with.
func fromText(s string) string {
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0 && at+1 < len(s); at = strings.IndexByte(s, '\\') {
		b.WriteString(s[:at])
		next := s[at+1]
		s = s[at+2:]
		switch {
		case next == '0':
			b.WriteByte(0)
		case next == 'x' && len(s) >= 2:
			b.WriteByte(byte(strings.IndexByte(hexDigits, s[0])<<4 | strings.IndexByte(hexDigits, s[1])))
			s = s[2:]
		default:
			b.WriteByte(next)
		}
	}
	b.WriteString(s)
	return b.String()
}

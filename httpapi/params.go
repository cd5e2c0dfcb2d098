package httpapi

import "unicode/utf8"

const (
	maxID         = 256  // characters
	maxStreamName = 1024 // bytes
	maxToken      = 4096 // bytes
	maxName       = 4096 // bytes of a queue, workflow, step or deployment name
	maxCursor     = 4096 // bytes
	maxLimit      = 1000 // what a larger limit is taken as
	idRule        = "must be an id: 1 to 256 letters, digits and _ . : - (not dots alone)"
)

// validID checks an id before it becomes part of a key.
func validID(s string) bool {
	if s == "" || len(s) > maxID {
		return false
	}
	onlyDots := true
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == ':', c == '-':
			onlyDots = false
		default:
			return false
		}
	}
	return !onlyDots
}

func checkText(name, s string, limit int) error {
	switch {
	case s == "":
		return invalid("%s is missing", name)
	case len(s) > limit:
		return invalid("%s has %d bytes, the limit is %d", name, len(s), limit)
	case !utf8.ValidString(s):
		return invalid("%s is not UTF-8", name)
	default:
		return nil
	}
}

func resolveNone(resolveData string) (bool, error) {
	switch resolveData {
	case "", "all":
		return false, nil
	case "none":
		return true, nil
	default:
		return false, invalid("resolveData must be all or none")
	}
}

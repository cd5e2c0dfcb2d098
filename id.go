package world

// MaxID is the longest id, in characters.
const MaxID = 256

// IDRule says what [ValidID] requires, for error messages.
const IDRule = "must be an id: 1 to 256 letters, digits and _ . : - (not dots alone)"

// ValidID reports whether id may be part of a Redis key and a path segment, as ids of runs, steps, hooks, waits and
// events must be. Ids of dots alone are invalid: "." and ".." have a meaning of their own in paths.
func ValidID(id string) bool {
	if id == "" || len(id) > MaxID {
		return false
	}
	onlyDots := true
	for i := range len(id) {
		switch c := id[i]; {
		case c == '.':
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == ':', c == '-':
			onlyDots = false
		default:
			return false
		}
	}
	return !onlyDots
}

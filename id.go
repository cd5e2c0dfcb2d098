package world

// MaxID is the longest id, in characters.
const MaxID = 256

// IDRule is what [ValidID] demands, for messages.
const IDRule = "must be an id: 1 to 256 letters, digits and _ . : - (not dots alone)"

// ValidID reports whether id may stand in a key of Redis and be a segment of a path, as ids of runs, steps, hooks, waits
// and events must. Dots alone are none: "." and ".." are segments with a meaning of their own.
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

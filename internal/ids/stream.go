package ids

import "strings"

// StreamOwner returns the run that a stream belongs to by its name, strm_<ULID of the run>_user… (contract §6.1), or "" if the name
// has none.
func StreamOwner(name string) string {
	rest, ok := strings.CutPrefix(name, "strm_")
	if !ok {
		return ""
	}
	ulid, _, ok := strings.Cut(rest, "_user")
	if runID := "wrun_" + ulid; ok {
		if _, isULID := Time("wrun_", runID); isULID {
			return runID
		}
	}
	return ""
}

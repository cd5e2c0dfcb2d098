package ids

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
)

// EventPosition returns the only position in a log at which an event with this id can be; ok is false if there is none. From spec
// version 6 on the id is evnt_ and the position counted from 1, before that wevt_ and a ULID that ends with the position.
func EventPosition(eventID string) (position int, ok bool) {
	if digits, found := strings.CutPrefix(eventID, "evnt_"); found {
		n, err := strconv.Atoi(digits)
		return n - 1, err == nil && n >= 1 && n-1 <= world.MaxPosition
	}
	text, found := strings.CutPrefix(eventID, "wevt_")
	if !found {
		return 0, false
	}
	u, err := ulid.ParseStrict(text)
	if err != nil {
		return 0, false
	}
	n := binary.BigEndian.Uint32(u[12:])
	return int(n), n <= world.MaxPosition
}

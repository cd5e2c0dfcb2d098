package cursor

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
)

// Place is a position in a list that is ordered by time and then by id.
type Place struct {
	MS world.Millis
	ID string
}

// Cursor is the cursor of the page that ends here.
func (p Place) Cursor(scope string) string {
	return sealCursor(scope, append(binary.AppendVarint(nil, int64(p.MS)), p.ID...))
}

// OpenPlace reads a cursor of a list.
func OpenPlace(scope, cursor string) (Place, error) {
	raw, err := openCursor(scope, cursor)
	if err != nil {
		return Place{}, err
	}
	ms, n := binary.Varint(raw)
	if n <= 0 || n == len(raw) || len(raw)-n > 600 {
		return Place{}, Bad()
	}
	return Place{MS: world.Millis(ms), ID: string(raw[n:])}, nil
}

// Text writes a place for Redis, "" for none.
func (p *Place) Text() string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(int64(p.MS), 10) + " " + p.ID
}

// Compare returns a negative number if p is before the other in an ascending list, and 0 if both are the same.
func (p Place) Compare(other Place) int {
	if p.MS != other.MS {
		if p.MS < other.MS {
			return -1
		}
		return 1
	}
	return strings.Compare(p.ID, other.ID)
}

// ComesAfter reports whether p comes after the other in a list of the order.
func (p Place) ComesAfter(other Place, order world.Order) bool {
	if order == world.Descending {
		return p.Compare(other) < 0
	}
	return p.Compare(other) > 0
}

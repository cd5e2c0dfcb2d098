package storage

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/world-redis/world-redis"
)

// A cursor is base64url of <version><4 bytes: hash of its list and position><position>. The
// hash makes garbage, and a cursor of another list, known for what it is. Positions are not
// row references: they stay valid when the row is gone.
const cursorVersion = 1

func sealCursor(scope string, position []byte) string {
	out := append(make([]byte, 0, 5+len(position)), cursorVersion)
	out = binary.BigEndian.AppendUint32(out, cursorHash(scope, position))
	return base64.RawURLEncoding.EncodeToString(append(out, position...))
}

func openCursor(scope, cursor string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < 6 || raw[0] != cursorVersion || binary.BigEndian.Uint32(raw[1:]) != cursorHash(scope, raw[5:]) {
		return nil, badCursor()
	}
	return raw[5:], nil
}

func cursorHash(scope string, position []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(scope + "\x00")) // a hash cannot fail
	_, _ = h.Write(position)
	return h.Sum32()
}

func badCursor() error {
	return world.Errorf(world.CodeInvalid, "The cursor is not one of this list")
}

// eventScope names the list of a run's events, or of one entity's.
func eventScope(runID, correlationID string) string {
	return "events/" + runID + "/" + correlationID
}

// eventCursor points at a position among the events of one entity.
func eventCursor(scope string, position int) string {
	if position < 0 {
		return ""
	}
	return sealCursor(scope, binary.AppendUvarint(nil, uint64(position)))
}

// logCursor points at an event of a log, by its time, too: another event may stand there one day.
func logCursor(scope string, position int, created world.Millis) string {
	if position < 0 {
		return ""
	}
	return sealCursor(scope, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(position)), uint64(max(0, created)))) //nolint:gosec // not negative
}

// openEventCursor reads a cursor of either kind. Those of earlier versions have no time: it is 0 then.
func openEventCursor(scope, cursor string) (world.LogEnd, error) {
	raw, err := openCursor(scope, cursor)
	if err != nil {
		return world.LogEnd{}, err
	}
	position, n := binary.Uvarint(raw)
	if n <= 0 || position >= 1<<31 {
		return world.LogEnd{}, badCursor()
	}
	end := world.LogEnd{Position: int(position)}
	if n == len(raw) {
		return end, nil
	}
	created, more := binary.Uvarint(raw[n:])
	if n+more != len(raw) || more <= 0 || created > math.MaxInt64 {
		return world.LogEnd{}, badCursor()
	}
	end.CreatedAt = world.Millis(created) //nolint:gosec // checked
	return end, nil
}

// place is a position in a list that is ordered by time and then by id.
type place struct {
	ms world.Millis
	id string
}

func (p place) cursor(scope string) string {
	return sealCursor(scope, append(binary.AppendVarint(nil, int64(p.ms)), p.id...))
}

func openPlace(scope, cursor string) (place, error) {
	raw, err := openCursor(scope, cursor)
	if err != nil {
		return place{}, err
	}
	ms, n := binary.Varint(raw)
	if n <= 0 || n == len(raw) || len(raw)-n > 600 {
		return place{}, badCursor()
	}
	return place{ms: world.Millis(ms), id: string(raw[n:])}, nil
}

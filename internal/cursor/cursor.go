// Package cursor writes and reads the cursors of lists, which are the same whether a run is in Redis or in the archive.
package cursor

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/world-redis/world-redis"
)

// A cursor is base64url of <version><4 bytes: hash of its list and position><position>. By the hash, garbage and cursors of
// other lists are recognised. Positions are not references to rows: they stay valid when the row is gone.
const cursorVersion = 1

func sealCursor(scope string, position []byte) string {
	out := append(make([]byte, 0, 5+len(position)), cursorVersion)
	out = binary.BigEndian.AppendUint32(out, cursorHash(scope, position))
	return base64.RawURLEncoding.EncodeToString(append(out, position...))
}

func openCursor(scope, cursor string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < 6 || raw[0] != cursorVersion || binary.BigEndian.Uint32(raw[1:]) != cursorHash(scope, raw[5:]) {
		return nil, Bad()
	}
	return raw[5:], nil
}

func cursorHash(scope string, position []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(scope + "\x00")) // a hash cannot fail
	_, _ = h.Write(position)
	return h.Sum32()
}

// Bad refuses what is no cursor, or one of another list.
func Bad() error {
	return world.Errorf(world.CodeInvalid, "The cursor is not one of this list")
}

// EventScope names the list of a run's events, or of one entity's.
func EventScope(runID, correlationID string) string {
	return "events/" + runID + "/" + correlationID
}

// EventCursor points at a position among the events of one entity.
func EventCursor(scope string, position int) string {
	if position < 0 {
		return ""
	}
	return sealCursor(scope, binary.AppendUvarint(nil, uint64(position)))
}

// LogCursor points at an event of a log. It includes the time, because after a failover another event may be at that position.
func LogCursor(scope string, position int, created world.Millis) string {
	if position < 0 {
		return ""
	}
	return sealCursor(scope, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(position)), uint64(max(0, created)))) //nolint:gosec // not negative
}

// OpenEventCursor reads a cursor of either kind. Those of earlier versions have no time: it is 0 then.
func OpenEventCursor(scope, cursor string) (world.LogEnd, error) {
	raw, err := openCursor(scope, cursor)
	if err != nil {
		return world.LogEnd{}, err
	}
	position, n := binary.Uvarint(raw)
	if n <= 0 || position >= 1<<31 {
		return world.LogEnd{}, Bad()
	}
	end := world.LogEnd{Position: int(position)}
	if n == len(raw) {
		return end, nil
	}
	created, more := binary.Uvarint(raw[n:])
	if n+more != len(raw) || more <= 0 || created > math.MaxInt64 {
		return world.LogEnd{}, Bad()
	}
	end.CreatedAt = world.Millis(created) //nolint:gosec // checked
	return end, nil
}

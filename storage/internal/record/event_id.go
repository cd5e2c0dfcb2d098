package record

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// The id of an event is not stored: it follows from the event's position in the log. From spec version 6 of its run on it is the
// slot, which is the position counted from 1. Before that it is a ULID of the event's time, a hash of the run id, and the
// position. Times and positions only grow along a log, and so do the ids.
const (
	slotPrefix = "evnt_"
	slotDigits = 26
	ulidPrefix = "wevt_"
	// maxPosition is the last position that fits into a ULID. A log is never so long.
	maxPosition = world.MaxPosition
)

// EventID returns the id of the event at a position.
func EventID(runID string, created world.Millis, position int, isSlot bool) string {
	if isSlot {
		return EventSlot(position)
	}
	return EventULID(runID, created, position)
}

// EventSlot is the id from spec 6 on.
func EventSlot(position int) string { return fmt.Sprintf("%s%0*d", slotPrefix, slotDigits, position+1) }

// EventULID is the id before spec 6.
func EventULID(runID string, created world.Millis, position int) string {
	var u ulid.ULID
	_ = u.SetTime(uint64(max(0, created))) //nolint:gosec // not negative; no time of an event has more than 48 bits
	h := fnv.New64a()
	_, _ = h.Write([]byte(runID)) // a hash cannot fail
	var run [8]byte
	binary.BigEndian.PutUint64(run[:], h.Sum64())
	copy(u[6:12], run[:])
	binary.BigEndian.PutUint32(u[12:], uint32(position)) //nolint:gosec // at most maxPosition
	return ulidPrefix + u.String()
}

// PositionOf returns the only position at which an event with this id can be; ok is false if there is none. Its record
// shows whether it is there.
func PositionOf(eventID string) (position int, ok bool) { return ids.EventPosition(eventID) }

// HasSlotID reports whether an id is a slot.
func HasSlotID(eventID string) bool { return strings.HasPrefix(eventID, slotPrefix) }

package storage

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
)

// The id of an event is not stored: it follows from the event's place in the log. From spec 6 of
// its run on it is the slot, which is the position counted from 1. Before that it is a ULID of the
// event's time, some bytes that stand for the run, and the position; since neither time nor position
// goes back along a log, neither does the id.
const (
	slotPrefix = "evnt_"
	slotDigits = 26
	ulidPrefix = "wevt_"
	// maxPosition is the last that fits into a ULID beside the rest. A log is never so long.
	maxPosition = world.MaxPosition
)

func eventID(runID string, created world.Millis, position int, isSlot bool) string {
	if isSlot {
		return slotID(position)
	}
	return ulidID(runID, created, position)
}

func slotID(position int) string { return fmt.Sprintf("%s%0*d", slotPrefix, slotDigits, position+1) }

// ulidID is the id before spec 6.
func ulidID(runID string, created world.Millis, position int) string {
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

// positionOf returns the only place at which an event with this id can stand; ok is false when
// there is none. Whether it does stand there, its record must tell.
func positionOf(eventID string) (position int, ok bool) {
	if digits, found := strings.CutPrefix(eventID, slotPrefix); found {
		n, err := strconv.Atoi(digits)
		return n - 1, err == nil && n >= 1 && n-1 <= maxPosition
	}
	text, found := strings.CutPrefix(eventID, ulidPrefix)
	if !found {
		return 0, false
	}
	u, err := ulid.ParseStrict(text)
	if err != nil {
		return 0, false
	}
	n := binary.BigEndian.Uint32(u[12:])
	return int(n), n <= maxPosition
}

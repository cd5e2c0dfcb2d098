package cboritem

import (
	"math"
	"time"

	"github.com/world-redis/world-redis"
)

// maxTimestamp is the last millisecond that a JavaScript Date can represent, in either direction.
const maxTimestamp = 8.64e15

// TimestampOf reads a timestamp in any form that a client may send: epoch milliseconds, ISO 8601 text, or a CBOR date
// (tag 0 text, tag 1 seconds). Seconds are rounded to the millisecond, not truncated: 1700000000.123 has no exact
// float, and a difference of one millisecond makes the SDK's replay diverge.
func TimestampOf(item []byte) (world.Millis, bool) {
	if len(item) == 0 {
		return 0, false
	}
	switch MajorOf(item) {
	case MajorText:
		s, _ := TextOf(item)
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return 0, false
		}
		return world.MillisOf(t), true
	case MajorTag:
		tag, content, ok := Untagged(item)
		switch {
		case ok && tag == 0 && MajorOf(content) == MajorText:
			return TimestampOf(content)
		case ok && tag == 1:
			if seconds, ok := NumberOf(content); ok {
				return Millis(math.Round(seconds * 1000))
			}
		}
		return 0, false
	default:
		ms, ok := NumberOf(item)
		if !ok {
			return 0, false
		}
		return Millis(math.Trunc(ms))
	}
}

// Millis converts milliseconds to a timestamp, if a JavaScript Date can represent it.
func Millis(ms float64) (world.Millis, bool) {
	if math.IsNaN(ms) || math.Abs(ms) > maxTimestamp {
		return 0, false
	}
	return world.Millis(ms), true
}

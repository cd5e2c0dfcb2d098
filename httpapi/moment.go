package httpapi

import (
	"math"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	momentRule = "must be a moment: epoch milliseconds or an ISO 8601 text"
	// maxMoment is the last millisecond a JavaScript Date can hold, in either direction.
	maxMoment = 8.64e15
)

// momentOf reads a moment in any form a client may send: epoch milliseconds, ISO 8601
// text, or a CBOR date (tag 0 text, tag 1 seconds). Seconds are rounded to the
// millisecond, not cut: 1700000000.123 has no exact float, and a millisecond off makes
// the SDK's replay diverge.
func (d codec) momentOf(item world.Raw) (world.Millis, bool) {
	if len(item) == 0 {
		return 0, false
	}
	switch majorOf(item) {
	case majorText:
		s, _ := d.textOf(item)
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return 0, false
		}
		return world.MillisOf(t), true
	case majorTag:
		tag, content, ok := untagged(item)
		switch {
		case ok && tag == 0 && majorOf(content) == majorText:
			return d.momentOf(content)
		case ok && tag == 1:
			seconds, ok := d.numberOf(content)
			return millisOf(math.Round(seconds*1000), ok)
		}
		return 0, false
	default:
		ms, ok := d.numberOf(item)
		return millisOf(math.Trunc(ms), ok)
	}
}

func millisOf(ms float64, ok bool) (world.Millis, bool) {
	if !ok || math.IsNaN(ms) || math.Abs(ms) > maxMoment {
		return 0, false
	}
	return world.Millis(ms), true
}

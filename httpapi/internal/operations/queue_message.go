package operations

import (
	"math"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// describe sets the body of a message and what the queue needs to know about it, so the queue
// does not read the body.
func describe(m *world.Message, kind world.Kind, message world.Raw) error {
	m.Body, m.ContentType = message, input.TypeCBOR
	if cboritem.MajorOf(message) != cboritem.MajorMap {
		return nil
	}
	o := input.ObjectOf("message", message)
	if o.Err != nil {
		return o.Err
	}
	m.StepID = o.ID("stepId")
	m.RunID = o.ID("runId")
	if m.RunID == "" {
		m.RunID = o.ID("workflowRunId")
	}
	m.Plain = kind == world.KindFlow && isBareWakeUp(o.Fields)
	return o.Err
}

// isBareWakeUp reports whether a message only names the run to wake.
func isBareWakeUp(fields world.Fields) bool {
	for _, f := range fields {
		switch f.Key {
		case "runId", "traceCarrier", "requestedAt":
		default:
			return false
		}
	}
	return fields.Has("runId")
}

// readDelay reads a number of seconds, which may have a fractional part.
func readDelay(o *input.Object, key string) time.Duration {
	item := o.Get(key)
	if item == nil {
		return 0
	}
	seconds, ok := cboritem.NumberOf(item)
	delay, fits := delayOf(seconds)
	if !ok || !fits {
		o.Fail(key, delayRule)
	}
	return delay
}

const delayRule = "must be a number of seconds from 0 to ten years"

func delayOf(seconds float64) (time.Duration, bool) {
	if math.IsNaN(seconds) || seconds < 0 || seconds > maxDelay.Seconds() {
		return 0, false
	}
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond, true
}

// readHeaders reads a map of HTTP headers.
func readHeaders(o *input.Object, key string) map[string]string {
	inner := o.Object(key)
	if inner == nil || len(inner.Fields) == 0 {
		return nil
	}
	if len(inner.Fields) > maxHeaders {
		o.Fail(key, "has more than 64 entries")
		return nil
	}
	out, size := make(map[string]string, len(inner.Fields)), 0
	for _, f := range inner.Fields {
		value, ok := cboritem.TextOf(f.Value)
		if !ok || !isHeaderName(f.Key) || strings.ContainsAny(value, "\r\n\x00") {
			o.Fail(key, "must map names of HTTP headers to texts of one line")
			return nil
		}
		size += len(f.Key) + len(value)
		out[f.Key] = value
	}
	if size > maxHeaderSize {
		o.Fail(key, "has more than 16 KiB")
		return nil
	}
	return out
}

// isHeaderName reports whether a text is a token as RFC 9110 defines it.
func isHeaderName(s string) bool {
	for i := range len(s) {
		c := s[i]
		isAlnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !isAlnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

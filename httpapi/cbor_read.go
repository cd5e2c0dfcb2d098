package httpapi

import (
	"errors"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

var errMalformed = errors.New("malformed CBOR")

// cborHead is the head of an item: its major type, the five bits after it, and the
// number that follows (a length, a value, or a float's bits).
type cborHead struct {
	major, info byte
	n           uint64
}

func (h cborHead) indefinite() bool { return h.info == 31 }

// readHead reads the head at the start of b and returns what comes after it.
func readHead(b []byte) (h cborHead, rest []byte, err error) {
	if len(b) == 0 {
		return h, nil, errMalformed
	}
	h.major, h.info = b[0]>>5, b[0]&31
	b = b[1:]
	switch {
	case h.info < 24:
		h.n = uint64(h.info)
		return h, b, nil
	case h.info == 31:
		return h, b, nil
	case h.info > 27:
		return h, nil, errMalformed
	}
	size := 1 << (h.info - 24)
	if len(b) < size {
		return h, nil, errMalformed
	}
	for _, x := range b[:size] {
		h.n = h.n<<8 | uint64(x)
	}
	return h, b[size:], nil
}

// majorOf returns the major type of an item that is not empty.
func majorOf(item world.Raw) byte { return item[0] >> 5 }

// absent reports what callers mean by leaving a field out: JavaScript's undefined is
// written as a value of its own, and null where a field is optional means the same.
func absent(item world.Raw) bool {
	return len(item) == 0 || item[0] == cborUndefined || item[0] == cborNull
}

// splitItem cuts the first item off b, which is a part of an item that is well-formed.
func splitItem(b []byte) (item world.Raw, rest []byte, err error) {
	rest, err = skipItem(b, maxNesting)
	if err != nil {
		return nil, nil, err
	}
	n := len(b) - len(rest)
	return world.Raw(b[:n:n]), rest, nil
}

// skipItem returns what comes after the first item of b. It only looks for its end: that the item is
// well-formed has been checked with the body.
func skipItem(b []byte, depth int) (rest []byte, err error) {
	h, b, err := readHead(b)
	for err == nil && h.major == majorTag && !h.indefinite() {
		h, b, err = readHead(b) // of what is tagged
	}
	if err != nil || depth < 0 {
		return nil, errMalformed
	}
	items := uint64(0) // that belong to this one
	switch h.major {
	case majorBytes, majorText:
		if h.indefinite() {
			break
		}
		if h.n > uint64(len(b)) {
			return nil, errMalformed
		}
		return b[h.n:], nil
	case majorArray:
		items = h.n
	case majorMap:
		items = 2 * h.n
	default:
		if h.indefinite() {
			return nil, errMalformed // a break that ends nothing
		}
		return b, nil
	}
	if h.indefinite() {
		for len(b) > 0 && b[0] != cborBreak {
			if b, err = skipItem(b, depth-1); err != nil {
				return nil, err
			}
		}
		if len(b) == 0 {
			return nil, errMalformed
		}
		return b[1:], nil
	}
	if items > 2*uint64(len(b)) || h.n > uint64(len(b)) {
		return nil, errMalformed // more than there can be
	}
	for range items {
		if b, err = skipItem(b, depth-1); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// plainDepth is how deep a plain item goes at most.
const plainDepth = 64

// plainItem reports whether b is one well-formed item without anything unusual in it, as nearly every
// body is. It never says so of what is not well-formed; anything else is left to the library.
func plainItem(b []byte) bool {
	rest, ok := skipPlain(b, plainDepth)
	return ok && len(rest) == 0
}

func skipPlain(b []byte, depth int) (rest []byte, ok bool) {
	h, rest, err := readHead(b)
	if err != nil || h.indefinite() || depth == 0 {
		return nil, false
	}
	items := h.n
	switch h.major {
	case majorBytes, majorText:
		if h.n > uint64(len(rest)) {
			return nil, false
		}
		return rest[h.n:], true
	case majorUint, majorNegint:
		return rest, true
	case majorSimple:
		return rest, h.info != 24 // a simple value of two bytes
	case majorTag:
		items = 1
	case majorMap:
		items *= 2
	}
	if h.major != majorTag && h.n > uint64(len(rest)) {
		return nil, false // more than there can be
	}
	for range items {
		if rest, ok = skipPlain(rest, depth-1); !ok {
			return nil, false
		}
	}
	return rest, true
}

// known are the keys that calls have. One that stands here costs no memory of its own.
var known = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"calls", "path", "key", "body", "then", "event", "params", "eventType", "correlationId", "specVersion", "eventData", "resumeId",
		"resolveData", "v1Compat", "occurredAt", "eventCount", "sinceCursor", "skipPreload", "preloadEvents", "requestId",
		"deploymentId", "workflowName", "executionContext", "input", "stepName", "result", "output", "error", "errorCode", "stack",
		"attempt", "retryAfter", "token", "metadata", "payload", "resumeAt", "attributes", "changes", "writer", "isWebhook",
		"queueName", "message", "opts", "runId", "idempotencyKey", "workflowRunId", "stepId", "deliverAfter", "headers",
	} {
		names[name] = name
	}
	return names
}()

// keyOf is textOf for a key of a map.
func (d codec) keyOf(item world.Raw) (string, bool) {
	if text, ok := plainText(item); ok {
		if name, ok := known[string(text)]; ok {
			return name, true
		}
		return string(text), true
	}
	return d.textOf(item)
}

// plainText returns the bytes of a text that is in one piece, as nearly all are.
func plainText(item world.Raw) (text []byte, ok bool) {
	h, rest, err := readHead(item)
	return rest, err == nil && h.major == majorText && !h.indefinite() && h.n == uint64(len(rest))
}

// nameSet holds the keys of a map, which mostly are few.
type nameSet struct {
	few  [12]string
	n    int
	many map[string]struct{} // nil while they are few
}

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	if s.many == nil {
		if slices.Contains(s.few[:s.n], name) {
			return false
		}
		if s.n < len(s.few) {
			s.few[s.n] = name
			s.n++
			return true
		}
		s.many = make(map[string]struct{}, 2*len(s.few))
		for _, one := range s.few {
			s.many[one] = struct{}{}
		}
	}
	_, twice := s.many[name]
	s.many[name] = struct{}{}
	return !twice
}

// maxKeys is how many keys a map may have that the service itself reads: a body, an event, its eventData, parameters.
// Each costs a few dozen times its size while it is looked at. Payloads are not looked into and may have any number.
const maxKeys = 10_000

// entriesOf returns the entries of a map in their order, leaving out absent ones; values
// are slices of item. A key that is not text or stands twice is refused.
func (d codec) entriesOf(path string, item world.Raw) (world.Fields, error) {
	if len(item) == 0 || majorOf(item) != majorMap {
		return nil, invalid("%s must be an object", path)
	}
	h, b, err := readHead(item)
	if err != nil {
		return nil, invalid("%s is not well-formed CBOR", path)
	}
	if !h.indefinite() && h.n > maxKeys {
		return nil, tooManyKeys(path)
	}
	fields := make(world.Fields, 0, min(h.n, 32))
	var seen nameSet
	for i := uint64(0); h.indefinite() || i < h.n; i++ {
		if h.indefinite() && len(b) > 0 && b[0] == cborBreak {
			break
		}
		if i == maxKeys {
			return nil, tooManyKeys(path)
		}
		var key, value world.Raw
		if key, b, err = splitItem(b); err == nil {
			value, b, err = splitItem(b)
		}
		if err != nil {
			return nil, invalid("%s is not well-formed CBOR", path)
		}
		name, ok := d.keyOf(key)
		if !ok {
			return nil, invalid("%s has a key that is not text", path)
		}
		if !seen.add(name) {
			return nil, invalid("%s has the key %q twice", path, name)
		}
		if !absent(value) {
			fields = append(fields, world.Field{Key: name, Value: value})
		}
	}
	return fields, nil
}

func tooManyKeys(path string) error { return invalid("%s has more than %d keys", path, maxKeys) }

// textOf reads a text string; bytes that are not UTF-8 stay as they are, because
// JavaScript strings with lone surrogates are encoded that way.
func (d codec) textOf(item world.Raw) (string, bool) {
	if len(item) == 0 || majorOf(item) != majorText {
		return "", false
	}
	if text, ok := plainText(item); ok {
		return string(text), true
	}
	var s string
	if err := d.cbor.Unmarshal(item, &s); err != nil {
		return "", false
	}
	return s, true
}

// numberOf reads an integer or a float of any width.
func (d codec) numberOf(item world.Raw) (float64, bool) {
	if len(item) == 0 {
		return 0, false
	}
	isFloat := majorOf(item) == majorSimple && item[0] >= 0xf9 && item[0] <= cborFloat64
	if m := majorOf(item); m != majorUint && m != majorNegint && !isFloat {
		return 0, false
	}
	if h, rest, err := readHead(item); err == nil && len(rest) == 0 {
		switch {
		case h.major == majorUint:
			return float64(h.n), true
		case item[0] == cborFloat64:
			return math.Float64frombits(h.n), true
		}
	}
	var f float64
	if err := d.cbor.Unmarshal(item, &f); err != nil {
		return 0, false
	}
	return f, true
}

// wholeOf reads a whole number. JavaScript encoders write whole numbers from 2^32 on as
// floats, so those are taken as well, up to where floats are exact.
func (d codec) wholeOf(item world.Raw) (int64, bool) {
	if len(item) == 0 {
		return 0, false
	}
	if m := majorOf(item); m == majorUint || m == majorNegint {
		if h, rest, err := readHead(item); err == nil && m == majorUint && h.n <= math.MaxInt64 && len(rest) == 0 {
			return int64(h.n), true
		}
		var n int64
		err := d.cbor.Unmarshal(item, &n)
		return n, err == nil
	}
	f, ok := d.numberOf(item)
	const exact = 1 << 53
	if !ok || f != float64(int64(f)) || f > exact || f < -exact {
		return 0, false
	}
	return int64(f), true
}

// flagOf reads a boolean.
func flagOf(item world.Raw) (value, ok bool) {
	if len(item) != 1 || (item[0] != cborTrue && item[0] != cborFalse) {
		return false, false
	}
	return item[0] == cborTrue, true
}

// untagged takes the tag off a tagged item.
func untagged(item world.Raw) (tag uint64, content world.Raw, ok bool) {
	h, rest, err := readHead(item)
	if err != nil || h.major != majorTag || len(rest) == 0 {
		return 0, nil, false
	}
	return h.n, rest, true
}

// newCBORMode sets the limits of what is decoded. Sizes are bounded by the body limit;
// nesting is bounded because walking it takes stack.
func newCBORMode() (cbor.DecMode, error) {
	return cbor.DecOptions{
		MaxNestedLevels:  maxNesting,
		MaxArrayElements: 1 << 26,
		MaxMapPairs:      1 << 26,
		UTF8:             cbor.UTF8DecodeInvalid,
	}.DecMode()
}

package input

import (
	"math"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// Object reads the fields of one map of a request. The first mistake is kept in Err, and
// everything read after it is absent, so a decoder checks Err once, at the end.
type Object struct {
	Path   string // its name in error messages
	Fields world.Fields
	Err    error
}

// ObjectOf reads a map, which error messages call path.
func ObjectOf(path string, item world.Raw) *Object {
	o := &Object{Path: path}
	o.Fields, o.Err = EntriesOf(path, item)
	return o
}

// Fail records what is wrong with a field, unless something is recorded already.
func (o *Object) Fail(key, want string) {
	if o.Err == nil {
		o.Err = refuse.Invalid("%s.%s %s", o.Path, key, want)
	}
}

// Get returns the encoded value of a field, nil if absent.
func (o *Object) Get(key string) world.Raw {
	if o.Err != nil {
		return nil
	}
	return o.Fields.Get(key)
}

// Text returns a text of at most limit bytes, "" if absent.
func (o *Object) Text(key string, limit int) string {
	item := o.Get(key)
	if item == nil {
		return ""
	}
	s, ok := cboritem.TextOf(item)
	if !ok {
		o.Fail(key, "must be text")
	}
	if len(s) > limit {
		o.Err = refuse.Invalid("%s.%s has %d bytes, the limit is %d", o.Path, key, len(s), limit)
		return ""
	}
	return s
}

// ID returns a valid id, "" if absent.
func (o *Object) ID(key string) string {
	s := o.Text(key, math.MaxInt)
	if s != "" && !world.ValidID(s) {
		o.Fail(key, world.IDRule)
		return ""
	}
	return s
}

// Whole returns a whole number that is not negative, nil if absent.
func (o *Object) Whole(key string) *int64 {
	item := o.Get(key)
	if item == nil {
		return nil
	}
	n, ok := cboritem.WholeOf(item)
	if !ok || n < 0 {
		o.Fail(key, "must be a whole number that is not negative")
		return nil
	}
	return &n
}

// Flag returns a boolean, false if absent.
func (o *Object) Flag(key string) bool {
	item := o.Get(key)
	if item == nil {
		return false
	}
	v, ok := cboritem.BoolOf(item)
	if !ok {
		o.Fail(key, "must be true or false")
	}
	return v
}

// TimestampRule says what a timestamp must be.
const TimestampRule = "must be a timestamp: epoch milliseconds or an ISO 8601 text"

// Millis returns a timestamp, 0 if absent.
func (o *Object) Millis(key string) world.Millis {
	item := o.Get(key)
	if item == nil {
		return 0
	}
	ms, ok := cboritem.TimestampOf(item)
	if !ok {
		o.Fail(key, TimestampRule)
	}
	return ms
}

// Object returns a map within this one, nil if absent.
func (o *Object) Object(key string) *Object {
	item := o.Get(key)
	if item == nil {
		return nil
	}
	inner := ObjectOf(o.Path+"."+key, item)
	if inner.Err != nil {
		o.Err = inner.Err
		return nil
	}
	return inner
}

// ByteString returns bytes, nil if absent. They are a slice of the request.
func (o *Object) ByteString(key string) []byte {
	item := o.Get(key)
	if item == nil {
		return nil
	}
	content, ok := cboritem.BytesOf(item)
	if !ok {
		o.Fail(key, "must be a byte string of known length")
		return nil
	}
	return content
}

// Small returns a whole number from 0 to a million, 0 if absent.
func (o *Object) Small(key string) int {
	n := o.Whole(key)
	switch {
	case n == nil:
		return 0
	case *n > 1_000_000:
		o.Fail(key, "is too large")
		return 0
	default:
		return int(*n)
	}
}

package httpapi

import (
	"math"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// object reads the fields of one map of a request. The first thing that is wrong is kept
// in err and everything after it reads as absent, so a handler asks once, at the end.
type object struct {
	codec  codec
	path   string // how messages name it
	fields world.Fields
	err    error
}

func (d codec) objectOf(path string, item world.Raw) *object {
	o := &object{codec: d, path: path}
	o.fields, o.err = d.entriesOf(path, item)
	return o
}

func (o *object) fail(key, want string) {
	if o.err == nil {
		o.err = refuse.Invalid("%s.%s %s", o.path, key, want)
	}
}

// get returns the field as it is, nil when absent.
func (o *object) get(key string) world.Raw {
	if o.err != nil {
		return nil
	}
	return o.fields.Get(key)
}

// text returns a text of at most limit bytes, "" when absent.
func (o *object) text(key string, limit int) string {
	item := o.get(key)
	if item == nil {
		return ""
	}
	s, ok := cboritem.TextOf(item)
	if !ok {
		o.fail(key, "must be text")
	}
	if len(s) > limit {
		o.err = refuse.Invalid("%s.%s has %d bytes, the limit is %d", o.path, key, len(s), limit)
		return ""
	}
	return s
}

// id returns an id that fits the rule for ids, "" when absent.
func (o *object) id(key string) string {
	s := o.text(key, math.MaxInt)
	if s != "" && !world.ValidID(s) {
		o.fail(key, world.IDRule)
		return ""
	}
	return s
}

// whole returns a whole number that is not negative, nil when absent.
func (o *object) whole(key string) *int64 {
	item := o.get(key)
	if item == nil {
		return nil
	}
	n, ok := cboritem.WholeOf(item)
	if !ok || n < 0 {
		o.fail(key, "must be a whole number that is not negative")
		return nil
	}
	return &n
}

func (o *object) flag(key string) bool {
	item := o.get(key)
	if item == nil {
		return false
	}
	v, ok := cboritem.BoolOf(item)
	if !ok {
		o.fail(key, "must be true or false")
	}
	return v
}

const momentRule = "must be a moment: epoch milliseconds or an ISO 8601 text"

func (o *object) millis(key string) world.Millis {
	item := o.get(key)
	if item == nil {
		return 0
	}
	ms, ok := cboritem.TimestampOf(item)
	if !ok {
		o.fail(key, momentRule)
	}
	return ms
}

// object returns a map within this one, or nil when absent.
func (o *object) object(key string) *object {
	item := o.get(key)
	if item == nil {
		return nil
	}
	inner := o.codec.objectOf(o.path+"."+key, item)
	if inner.err != nil {
		o.err = inner.err
		return nil
	}
	return inner
}

// byteString returns bytes, nil when absent; they are a slice of the request.
func (o *object) byteString(key string) []byte {
	item := o.get(key)
	if item == nil {
		return nil
	}
	content, ok := cboritem.BytesOf(item)
	if !ok {
		o.fail(key, "must be a byte string of known length")
		return nil
	}
	return content
}

// small returns a whole number from 0 to a million, 0 when absent.
func (o *object) small(key string) int {
	n := o.whole(key)
	switch {
	case n == nil:
		return 0
	case *n > 1_000_000:
		o.fail(key, "is too large")
		return 0
	default:
		return int(*n)
	}
}

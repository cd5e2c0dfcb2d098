// Package wire encodes the API's answers: entities as CBOR, and CBOR as JSON. It also converts JSON to CBOR. The
// shapes are few and payloads are copied unchanged, so it needs no reflection.
package wire

import (
	"slices"
	"sync"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// Encoder writes CBOR items in order.
type Encoder struct {
	Bytes []byte // the output so far
}

// NewEncoder returns an encoder with room for capacity bytes.
func NewEncoder(capacity int) *Encoder { return &Encoder{Bytes: make([]byte, 0, capacity)} }

// encoders keeps the memory of sent answers for the next ones: new memory was the largest part of a call's memory
// cost.
var encoders = sync.Pool{New: func() any { return NewEncoder(2 << 10) }}

// mostKept is the largest answer, in bytes, whose memory is kept.
const mostKept = 64 << 10

// BorrowEncoder is NewEncoder for an answer that is released after it was sent.
func BorrowEncoder() *Encoder { return encoders.Get().(*Encoder) }

// Release returns the memory; no part of it may be in use any more. It ignores a nil encoder.
func (e *Encoder) Release() {
	if e == nil || cap(e.Bytes) > mostKept {
		return
	}
	e.Bytes = e.Bytes[:0]
	encoders.Put(e)
}

// Grow makes room for n bytes more.
func (e *Encoder) Grow(n int) { e.Bytes = slices.Grow(e.Bytes, n) }

// Array begins a list of n items.
func (e *Encoder) Array(n int) {
	e.Bytes = cboritem.AppendHead(e.Bytes, cboritem.MajorArray, uint64(n))
}

// Text writes a text.
func (e *Encoder) Text(s string) { e.Bytes = cboritem.AppendText(e.Bytes, s) }

// Null writes a null.
func (e *Encoder) Null() { e.Bytes = append(e.Bytes, cboritem.Null) }

// Raw writes an item unchanged.
func (e *Encoder) Raw(item world.Raw) { e.Bytes = append(e.Bytes, item...) }

// ByteString writes a byte string.
func (e *Encoder) ByteString(p []byte) { e.Bytes = cboritem.AppendBytes(e.Bytes, p) }

// Object begins a map. Its entries are counted as they are written.
func (e *Encoder) Object() Object {
	e.Bytes = append(e.Bytes, 0)
	return Object{e: e, at: len(e.Bytes) - 1}
}

// Object writes one map. Between Encoder.Object and End, other items may be written, too, each after its key.
type Object struct {
	e  *Encoder
	at int // of the head
	n  int
}

// Key writes the key of the item that follows.
func (o *Object) Key(k string) {
	o.n++
	o.e.Text(k)
}

// Text writes a text.
func (o *Object) Text(k, v string) {
	o.Key(k)
	o.e.Text(v)
}

// OptionalText writes a text that is not empty.
func (o *Object) OptionalText(k, v string) {
	if v != "" {
		o.Text(k, v)
	}
}

// Whole writes an integer.
func (o *Object) Whole(k string, n int64) {
	o.Key(k)
	o.e.Bytes = cboritem.AppendInt(o.e.Bytes, n)
}

// OptionalWhole writes an integer that is not 0.
func (o *Object) OptionalWhole(k string, n int) {
	if n != 0 {
		o.Whole(k, int64(n))
	}
}

// OptionalMillis writes a timestamp that is set.
func (o *Object) OptionalMillis(k string, m world.Millis) {
	if m != 0 {
		o.Whole(k, int64(m))
	}
}

// Flag writes a boolean.
func (o *Object) Flag(k string, v bool) {
	o.Key(k)
	o.e.Bytes = cboritem.AppendBool(o.e.Bytes, v)
}

// OptionalRaw writes an item that is set.
func (o *Object) OptionalRaw(k string, item world.Raw) {
	if len(item) > 0 {
		o.Key(k)
		o.e.Raw(item)
	}
}

// Cursor is the one field that is null for "none".
func (o *Object) Cursor(c string) {
	o.Key("cursor")
	if c == "" {
		o.e.Null()
	} else {
		o.e.Text(c)
	}
}

// End writes the number of entries into the head.
func (o *Object) End() {
	var room [9]byte
	head := cboritem.AppendHead(room[:0], cboritem.MajorMap, uint64(o.n))
	o.e.Bytes[o.at] = head[0]
	if len(head) > 1 {
		o.e.Bytes = slices.Insert(o.e.Bytes, o.at+1, head[1:]...)
	}
}

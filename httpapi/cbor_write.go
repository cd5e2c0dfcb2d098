package httpapi

import (
	"slices"
	"sync"

	"github.com/world-redis/world-redis"
)

// The CBOR major types, in the upper three bits of an item's first byte.
const (
	majorUint   = 0
	majorNegint = 1
	majorBytes  = 2
	majorText   = 3
	majorArray  = 4
	majorMap    = 5
	majorTag    = 6
	majorSimple = 7
)

const (
	cborFalse     = 0xf4
	cborTrue      = 0xf5
	cborNull      = 0xf6
	cborUndefined = 0xf7
	cborFloat64   = 0xfb
	cborBreak     = 0xff
)

func appendText(b []byte, s string) []byte {
	return append(world.AppendItemHead(b, majorText, uint64(len(s))), s...)
}

// encoder writes answers as CBOR. The shapes are few and payloads are spliced in as they
// are, which is why this is not left to reflection.
type encoder struct{ bytes []byte }

func newEncoder(capacity int) *encoder { return &encoder{bytes: make([]byte, 0, capacity)} }

// encoders keeps the memory of answers that have been sent, for the next ones: fresh memory was the most
// of what a call cost in memory.
var encoders = sync.Pool{New: func() any { return newEncoder(2 << 10) }}

// mostKept is the largest answer, in bytes, whose memory is kept.
const mostKept = 64 << 10

// borrowEncoder is newEncoder for an answer that is released when it has been sent.
func borrowEncoder() *encoder { return encoders.Get().(*encoder) }

// grow makes room for so many bytes more.
func (e *encoder) grow(n int) { e.bytes = slices.Grow(e.bytes, n) }

// release gives the memory back; nobody may hold a part of it any more.
func (e *encoder) release() {
	if e == nil || cap(e.bytes) > mostKept {
		return
	}
	e.bytes = e.bytes[:0]
	encoders.Put(e)
}

func (e *encoder) array(n int)        { e.bytes = world.AppendItemHead(e.bytes, majorArray, uint64(n)) }
func (e *encoder) text(s string)      { e.bytes = appendText(e.bytes, s) }
func (e *encoder) null()              { e.bytes = append(e.bytes, cborNull) }
func (e *encoder) raw(item world.Raw) { e.bytes = append(e.bytes, item...) }

func (e *encoder) byteString(p []byte) {
	e.bytes = append(world.AppendItemHead(e.bytes, majorBytes, uint64(len(p))), p...)
}

// object begins a map whose number of entries is counted as they are written.
func (e *encoder) object() objectWriter {
	e.bytes = append(e.bytes, 0)
	return objectWriter{e: e, at: len(e.bytes) - 1}
}

// objectWriter writes one map. Between object and end other items may be written too,
// each after its key.
type objectWriter struct {
	e  *encoder
	at int // of the head
	n  int
}

func (o *objectWriter) key(k string) {
	o.n++
	o.e.text(k)
}

func (o *objectWriter) text(k, v string) {
	o.key(k)
	o.e.text(v)
}

func (o *objectWriter) optionalText(k, v string) {
	if v != "" {
		o.text(k, v)
	}
}

func (o *objectWriter) whole(k string, n int64) {
	o.key(k)
	o.e.bytes = world.AppendItemInt(o.e.bytes, n)
}

func (o *objectWriter) optionalWhole(k string, n int) {
	if n != 0 {
		o.whole(k, int64(n))
	}
}

func (o *objectWriter) optionalMillis(k string, m world.Millis) {
	if m != 0 {
		o.whole(k, int64(m))
	}
}

func (o *objectWriter) flag(k string, v bool) {
	o.key(k)
	if v {
		o.e.bytes = append(o.e.bytes, cborTrue)
	} else {
		o.e.bytes = append(o.e.bytes, cborFalse)
	}
}

func (o *objectWriter) optionalRaw(k string, item world.Raw) {
	if len(item) > 0 {
		o.key(k)
		o.e.raw(item)
	}
}

// cursor is the one field that says null for "none".
func (o *objectWriter) cursor(c string) {
	o.key("cursor")
	if c == "" {
		o.e.null()
	} else {
		o.e.text(c)
	}
}

func (o *objectWriter) end() {
	var room [9]byte
	head := world.AppendItemHead(room[:0], majorMap, uint64(o.n))
	o.e.bytes[o.at] = head[0]
	if len(head) > 1 {
		o.e.bytes = slices.Insert(o.e.bytes, o.at+1, head[1:]...)
	}
}

package streaming

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/world-redis/world-redis"
)

// pageMemory lends memory to pages of large chunks. Otherwise they would make as much garbage as there is data.
var pageMemory = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// recordBytes is more than a record needs in addition to its chunk in the reply to an XRANGE.
const recordBytes = 256

// borrow returns an empty buffer with room for this many records and bytes of chunks.
func borrow(records, chunks int) *bytes.Buffer {
	memory := pageMemory.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is in there
	memory.Reset()
	memory.Grow(chunks + records*recordBytes + bytes.MinRead)
	return memory
}

// giveBack ends the use of the page's chunks, if their memory is lent.
func (p page) giveBack() {
	if p.memory != nil {
		pageMemory.Put(p.memory)
	}
}

// addRows adds the chunks in the raw reply to an XRANGE, [[id, [d, bytes, …]], …], as slices of it. It reports
// whether the reply is valid: an error, such as MOVED, is not.
func (p *page) addRows(from int64, raw []byte) bool {
	r := reply{raw}
	rows, ok := r.array()
	for i := 0; ok && i < rows; i++ {
		if record, valid := r.array(); !valid || record != 2 || !r.skip(1) {
			return false
		}
		fields, valid := r.array()
		if !valid || fields < 2 {
			return false
		}
		key, _ := r.text()
		data, valid := r.text()
		if !valid || string(key) != "d" || !r.skip(fields-2) {
			return false
		}
		p.chunks = append(p.chunks, world.Chunk{Index: from + int64(i), Data: data})
	}
	return ok && len(r.rest) == 0
}

// reply is the unread part of a raw reply of Redis.
type reply struct{ rest []byte }

func (r *reply) array() (length int, ok bool) { return r.head('*') }

func (r *reply) text() (text []byte, ok bool) {
	n, ok := r.head('$')
	if !ok || n > len(r.rest)-2 {
		return nil, false
	}
	text, r.rest = r.rest[:n:n], r.rest[n+2:]
	return text, true
}

// skip skips this many strings.
func (r *reply) skip(texts int) bool {
	for range texts {
		if _, ok := r.text(); !ok {
			return false
		}
	}
	return true
}

// head reads a line of a type mark and a length.
func (r *reply) head(mark byte) (length int, ok bool) {
	line, rest, ok := bytes.Cut(r.rest, []byte("\r\n"))
	if !ok || len(line) < 2 || line[0] != mark {
		return 0, false
	}
	n, err := strconv.ParseUint(string(line[1:]), 10, 31)
	r.rest = rest
	return int(n), err == nil
}

package storage

import "github.com/world-redis/world-redis"

// The CBOR that storage reads and writes for every event is so little, and so often the same, that it
// is done by hand here: by reflection it took a tenth of the service's time. What looks unusual is
// left to the library.

const (
	itemUint   = 0
	itemNegint = 1
	itemBytes  = 2
	itemText   = 3
	itemArray  = 4
	itemMap    = 5
	itemTrue   = 0xf5
)

func appendItemBytes(b []byte, major byte, value []byte) []byte {
	return append(world.AppendItemHead(b, major, uint64(len(value))), value...)
}

// items reads items one after the other. ok turns false at the first that is not what was asked for,
// or not of a definite length.
type items struct {
	left []byte
	ok   bool
}

func (r *items) head() (major byte, n uint64) {
	if !r.ok || len(r.left) == 0 {
		r.ok = false
		return 0, 0
	}
	first := r.left[0]
	size := 0
	switch info := first & 31; {
	case info < 24:
		n = uint64(info)
	case info <= 27:
		size = 1 << (info - 24)
	default:
		r.ok = false
	}
	if len(r.left) < 1+size {
		r.ok = false
		return 0, 0
	}
	for _, x := range r.left[1 : 1+size] {
		n = n<<8 | uint64(x)
	}
	r.left = r.left[1+size:]
	return first >> 5, n
}

// count reads the head of a map or an array.
func (r *items) count(major byte) int {
	m, n := r.head()
	if m != major || n > uint64(len(r.left)) {
		r.ok = false
		return 0
	}
	return int(n)
}

// string reads a text or a byte string; it is a part of what is read.
func (r *items) string(major byte) []byte {
	n := r.count(major)
	if !r.ok {
		return nil
	}
	s := r.left[:n:n]
	r.left = r.left[n:]
	return s
}

func (r *items) int() int64 {
	m, n := r.head()
	switch {
	case n > 1<<62:
		r.ok = false
	case m == itemUint:
		return int64(n)
	case m == itemNegint:
		return -int64(n) - 1
	default:
		r.ok = false
	}
	return 0
}

func (r *items) isTrue() bool {
	if !r.ok || len(r.left) == 0 || r.left[0] != itemTrue {
		r.ok = false
		return false
	}
	r.left = r.left[1:]
	return true
}

package cboritem

// Reader reads the items of a record in order. An item of another type than requested, or of indefinite length, makes
// the reader fail; from then on it returns zero values.
type Reader struct {
	left   []byte
	failed bool
}

// NewReader returns a reader of b. Returned strings are slices of b.
func NewReader(b []byte) Reader { return Reader{left: b} }

// OK reports whether no read has failed.
func (r *Reader) OK() bool { return !r.failed }

// Done reports whether no read has failed and nothing is left.
func (r *Reader) Done() bool { return !r.failed && len(r.left) == 0 }

func (r *Reader) head() (major byte, n uint64) {
	h, rest, err := ReadHead(r.left)
	if err != nil || h.Indefinite() || r.failed {
		r.failed = true
		return 0, 0
	}
	r.left = rest
	return h.Major, h.N
}

// Count reads the head of a map or array and returns its number of entries.
func (r *Reader) Count(major byte) int {
	m, n := r.head()
	if m != major || n > uint64(len(r.left)) {
		r.failed = true
		return 0
	}
	return int(n)
}

// Bytes reads a text or a byte string.
func (r *Reader) Bytes(major byte) []byte {
	n := r.Count(major)
	if r.failed {
		return nil
	}
	s := r.left[:n:n]
	r.left = r.left[n:]
	return s
}

// Int reads a whole number of at most 62 bits.
func (r *Reader) Int() int64 {
	m, n := r.head()
	switch {
	case n > 1<<62:
		r.failed = true
	case m == MajorUint:
		return int64(n)
	case m == MajorNegint:
		return -int64(n) - 1
	default:
		r.failed = true
	}
	return 0
}

// True reads a boolean that must be true.
func (r *Reader) True() bool {
	if r.failed || len(r.left) == 0 || r.left[0] != True {
		r.failed = true
		return false
	}
	r.left = r.left[1:]
	return true
}

package record

import (
	"strconv"
	"unsafe"

	"github.com/world-redis/world-redis/internal/luascript"
)

// Reply is what a script answered.
type Reply []any

// at returns element i, nil when there is none.
func (r Reply) at(i int) any {
	if i >= len(r) {
		return nil
	}
	return r[i]
}

// After returns the elements from i on.
func (r Reply) After(i int) Reply { return r[min(i, len(r)):] }

// Code returns the first element, the reply code.
func (r Reply) Code() (int, error) {
	if len(r) == 0 {
		return 0, luascript.ErrShortReply
	}
	n, err := luascript.Int(r[0])
	return int(n), err
}

// List returns element i as a list, nil when it is none.
func (r Reply) List(i int) Reply {
	l, _ := r.at(i).([]any)
	return l
}

// Text returns element i as text; integers are written out, nil and lists are "".
func (r Reply) Text(i int) string {
	switch v := r.at(i).(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		return ""
	}
}

// Number returns element i as a number, 0 when it is none.
func (r Reply) Number(i int) int {
	n, err := strconv.Atoi(r.Text(i))
	if err != nil {
		return 0
	}
	return n
}

// Bytes returns element i as bytes; nil stays nil. They share the memory of the reply, since copying a large payload costs as
// much as its way through the kernel. So they must not be changed.
func (r Reply) Bytes(i int) []byte {
	s, ok := r.at(i).(string)
	switch {
	case !ok:
		return nil
	case s == "":
		return []byte{}
	default:
		return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
	}
}

// Int reads a number; anything else is -1.
func Int(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

package wire

import (
	"encoding/base64"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/world-redis/world-redis/internal/cboritem"
)

// The CBOR tags that have a form in JSON.
const (
	tagEpoch     = 1 // seconds
	tagBignum    = 2
	tagNegBignum = 3
)

// maxBignum is the largest size, in bytes, of an integer that is written in decimals: the time for that grows with
// the square of the size.
const maxBignum = 1024

// ToJSON converts one item and keeps the order of keys. Byte strings become
// {"__type":"Uint8Array","data":"<base64>"}, and dates become ISO text as in JavaScript. Undefined members are left
// out; what JSON cannot express (NaN, undefined elsewhere) is null. A tag that does not fit its content, and an
// integer above maxBignum, become {"__type":"CBOR","data":"<base64>"} with the bytes of the item: one value that
// cannot be shown must not hide the others.
//
// The text may be 34 times as long as the item. All of it but the last piece goes to flush in pieces; if flush is
// nil, the whole text is returned.
func ToJSON(item []byte, flush func(piece []byte) error) ([]byte, error) {
	w := jsonWriter{in: item, out: make([]byte, 0, len(item)+len(item)/2), piece: max(2*len(item), jsonPiece), flush: flush}
	if err := w.value(0); err != nil {
		return nil, err
	}
	if len(w.in) != 0 {
		return nil, cboritem.ErrMalformed
	}
	return w.out, nil
}

const (
	// jsonPiece is the least size of a piece, in bytes. An item may be half as large as its piece.
	jsonPiece = 256 << 10
	// longestKey is the largest key that is not text, in bytes, that is written as the text of its JSON, which is
	// built in memory.
	longestKey = 16 << 10
)

type jsonWriter struct {
	in, out []byte
	inKey   bool // it writes a key that is not text
	piece   int
	flush   func(piece []byte) error
}

// pass flushes the output if it is large enough. It is called where no earlier output can change.
func (w *jsonWriter) pass() error {
	if len(w.out) < w.piece || w.inKey || w.flush == nil {
		return nil
	}
	err := w.flush(w.out)
	w.out = w.out[:0]
	return err
}

func (w *jsonWriter) head() (h cboritem.Head, err error) {
	h, w.in, err = cboritem.ReadHead(w.in)
	return h, err
}

// atBreak consumes the end of an indefinite item.
func (w *jsonWriter) atBreak() bool {
	if len(w.in) > 0 && w.in[0] == cboritem.Break {
		w.in = w.in[1:]
		return true
	}
	return false
}

func (w *jsonWriter) value(depth int) error {
	if depth > 2*cboritem.MaxNesting {
		return cboritem.ErrMalformed
	}
	start := w.in
	h, err := w.head()
	if err != nil {
		return err
	}
	switch h.Major {
	case cboritem.MajorUint:
		w.out = strconv.AppendUint(w.out, h.N, 10)
	case cboritem.MajorNegint:
		n := new(big.Int).SetUint64(h.N)
		w.out = n.Not(n).Append(w.out, 10) // -1 - n
	case cboritem.MajorBytes:
		return w.bytes(h)
	case cboritem.MajorText:
		text, err := w.content(h)
		if err != nil {
			return err
		}
		w.out = appendJSONText(w.out, text)
	case cboritem.MajorArray:
		return w.array(h, depth)
	case cboritem.MajorMap:
		return w.object(h, depth)
	case cboritem.MajorTag:
		return w.tagged(start, h.N, depth)
	default:
		return w.simple(h)
	}
	return nil
}

// content reads the bytes of a byte or text string, in one piece or in chunks.
func (w *jsonWriter) content(h cboritem.Head) (content []byte, err error) {
	content, w.in, err = cboritem.Content(h, w.in)
	return content, err
}

func (w *jsonWriter) bytes(h cboritem.Head) error {
	content, err := w.content(h)
	if err != nil {
		return err
	}
	w.out = append(w.out, `{"__type":"`+bytesTag+`","data":"`...)
	w.out = base64.StdEncoding.AppendEncode(w.out, content)
	w.out = append(w.out, `"}`...)
	return nil
}

func (w *jsonWriter) array(h cboritem.Head, depth int) error {
	w.out = append(w.out, '[')
	for i := uint64(0); h.Indefinite() || i < h.N; i++ {
		if h.Indefinite() && w.atBreak() {
			break
		}
		if err := w.pass(); err != nil {
			return err
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(depth + 1); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *jsonWriter) object(h cboritem.Head, depth int) error {
	w.out = append(w.out, '{')
	empty := true
	for i := uint64(0); h.Indefinite() || i < h.N; i++ {
		if h.Indefinite() && w.atBreak() {
			break
		}
		if err := w.pass(); err != nil {
			return err
		}
		start := len(w.out)
		if !empty {
			w.out = append(w.out, ',')
		}
		if err := w.key(depth + 1); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if len(w.in) > 0 && w.in[0] == cboritem.Undefined {
			w.in, w.out = w.in[1:], w.out[:start]
			continue
		}
		if err := w.value(depth + 1); err != nil {
			return err
		}
		empty = false
	}
	w.out = append(w.out, '}')
	return nil
}

// key writes a map key; a key that is not text becomes the text of its JSON. A long one, and a key within such a key,
// becomes only its bytes in base64: each text within a text doubles the backslashes in it, so 50 bytes would become
// gigabytes.
func (w *jsonWriter) key(depth int) error {
	if len(w.in) > 0 && w.in[0]>>5 == cboritem.MajorText {
		return w.value(depth)
	}
	start := len(w.out)
	key, rest, err := cboritem.Split(w.in)
	switch {
	case err != nil:
		return err
	case w.inKey, len(key) > longestKey:
		w.in, w.out = rest, appendJSONText(w.out, []byte(base64.StdEncoding.EncodeToString(key)))
		return nil
	}
	w.inKey = true
	err = w.value(depth)
	w.inKey = false
	if err != nil {
		return err
	}
	text := string(w.out[start:])
	w.out = appendJSONText(w.out[:start], []byte(text))
	return nil
}

// tagged writes the content of a tag; item begins with the tag.
func (w *jsonWriter) tagged(item []byte, tag uint64, depth int) error {
	switch tag {
	case tagEpoch:
		if seconds, ok := w.epoch(); ok {
			w.date(seconds)
			return nil
		}
	case tagBignum, tagNegBignum:
		h, err := w.head()
		if err != nil {
			return err
		}
		if h.Major == cboritem.MajorBytes {
			content, err := w.content(h)
			if err != nil {
				return err
			}
			if len(content) <= maxBignum {
				n := new(big.Int).SetBytes(content)
				if tag == tagNegBignum {
					n.Not(n)
				}
				w.out = n.Append(w.out, 10)
				return nil
			}
		}
	default: // date text, typed arrays and all others: the content is enough
		return w.value(depth + 1)
	}
	return w.asItIs(item)
}

// asItIs writes the first item of b as its bytes and continues after it.
func (w *jsonWriter) asItIs(b []byte) error {
	item, rest, err := cboritem.Split(b)
	if err != nil {
		return err
	}
	w.out = append(w.out, `{"__type":"CBOR","data":"`...)
	w.out = base64.StdEncoding.AppendEncode(w.out, item)
	w.out = append(w.out, `"}`...)
	w.in = rest
	return nil
}

// epoch reads the content of a tag 1 date.
func (w *jsonWriter) epoch() (seconds float64, ok bool) {
	h, err := w.head()
	if err != nil {
		return 0, false
	}
	switch h.Major {
	case cboritem.MajorUint:
		return float64(h.N), !h.Indefinite()
	case cboritem.MajorNegint:
		return -1 - float64(h.N), !h.Indefinite()
	default:
		return cboritem.FloatOf(h)
	}
}

// date writes a timestamp as ISO text with milliseconds.
func (w *jsonWriter) date(seconds float64) {
	ms, ok := cboritem.Millis(math.Round(seconds * 1000))
	if !ok {
		w.out = append(w.out, "null"...)
		return
	}
	w.out = append(w.out, '"')
	w.out = time.UnixMilli(int64(ms)).UTC().AppendFormat(w.out, "2006-01-02T15:04:05.000Z")
	w.out = append(w.out, '"')
}

func (w *jsonWriter) simple(h cboritem.Head) error {
	if f, ok := cboritem.FloatOf(h); ok {
		w.out = appendJSONFloat(w.out, f)
		return nil
	}
	switch {
	case h.Indefinite():
		return cboritem.ErrMalformed // a break with nothing to end
	case h.N == 20:
		w.out = append(w.out, "false"...)
	case h.N == 21:
		w.out = append(w.out, "true"...)
	default:
		w.out = append(w.out, "null"...)
	}
	return nil
}

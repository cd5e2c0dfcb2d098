package wire

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// MessageJSON converts a queue message from CBOR to JSON, for an app that accepts only JSON. Nothing is lost, and the
// app may parse the text and print it again (JSON.parse, JSON.stringify) without changing a byte, so that its
// signature still fits:
//
//   - A byte string is {"__type":"Uint8Array","data":"<base64>"}.
//   - A date of the message itself, not of an object in it, is ISO text, as in the SDK's own Worlds.
//   - Any other item that JSON cannot express, or that JavaScript would print otherwise, is
//     {"__type":"CBOR","data":"<base64>"} with its bytes. SDK v4 sends none.
//
// The text is at most three times as long as the item, and a little; a message whose text would be longer, or that is
// expensive to convert, is one such CBOR object. Only malformed bytes are an error.
func MessageJSON(item world.Raw) ([]byte, error) {
	w := messageWriter{in: item, most: 3*len(item) + 1024, rescans: 2 * len(item)}
	err := w.value(0)
	if errors.Is(err, errTooMuch) {
		w.in, w.out, w.rescans = item, w.out[:0], len(item)
		err = w.asCBOR()
	}
	if err == nil && len(w.in) > 0 {
		err = cboritem.ErrMalformed
	}
	return w.out, err
}

var (
	errNoForm  = errors.New("JSON has no form for this item")
	errTooMuch = errors.New("the message is expensive to convert")
)

// Keys that JavaScript, or a parser of JSON that a framework uses, does not treat as any other key; and the key that
// marks bytes.
var specialKeys = map[string]bool{"__proto__": true, "constructor": true, "__type": true}

type messageWriter struct {
	in, out []byte
	most    int // bytes of the text
	rescans int // bytes that may be read again because their item has no form
}

// value writes the next item.
func (w *messageWriter) value(depth int) error {
	start, mark := w.in, len(w.out)
	err := w.plain(depth)
	if errors.Is(err, errNoForm) {
		w.in, w.out = start, w.out[:mark]
		err = w.asCBOR()
	}
	if err == nil && len(w.out) > w.most {
		return errTooMuch
	}
	return err
}

// asCBOR writes the next item as its bytes.
func (w *messageWriter) asCBOR() error {
	item, rest, err := cboritem.Split(w.in)
	if err != nil {
		return err
	}
	if w.rescans -= len(item); w.rescans < 0 {
		return errTooMuch
	}
	w.in = rest
	w.tagged("CBOR", item)
	return nil
}

func (w *messageWriter) tagged(kind string, content []byte) {
	w.out = append(w.out, `{"__type":"`+kind+`","data":"`...)
	w.out = base64.StdEncoding.AppendEncode(w.out, content)
	w.out = append(w.out, `"}`...)
}

func (w *messageWriter) plain(depth int) (err error) {
	if depth > cboritem.MaxNesting {
		return errNoForm
	}
	var h cboritem.Head
	if h, w.in, err = cboritem.ReadHead(w.in); err != nil {
		return err
	}
	switch h.Major {
	case cboritem.MajorUint, cboritem.MajorNegint:
		return w.whole(h)
	case cboritem.MajorBytes:
		content, rest, err := cboritem.Content(h, w.in)
		if err != nil {
			return err
		}
		w.in = rest
		w.tagged(bytesTag, content)
		return nil
	case cboritem.MajorText:
		_, err := w.text(h)
		return err
	case cboritem.MajorArray:
		return w.array(h, depth)
	case cboritem.MajorMap:
		return w.object(h, depth)
	case cboritem.MajorTag:
		return w.date(h, depth)
	default:
		return w.simple(h)
	}
}

// whole writes an integer that JavaScript has exactly.
func (w *messageWriter) whole(h cboritem.Head) error {
	const exact = 1 << 53
	switch {
	case h.Indefinite():
		return cboritem.ErrMalformed
	case h.N >= exact:
		return errNoForm
	case h.Major == cboritem.MajorNegint:
		w.out = strconv.AppendInt(w.out, -1-int64(h.N), 10)
	default:
		w.out = strconv.AppendUint(w.out, h.N, 10)
	}
	return nil
}

func (w *messageWriter) text(h cboritem.Head) (content []byte, err error) {
	content, w.in, err = cboritem.Content(h, w.in)
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(content):
		return nil, errNoForm
	}
	w.out = appendJSONText(w.out, content)
	return content, nil
}

// more reports whether an array or a map with head h has another entry after n, and consumes its end.
func (w *messageWriter) more(h cboritem.Head, n uint64) bool {
	if !h.Indefinite() {
		return n < h.N
	}
	if len(w.in) > 0 && w.in[0] == cboritem.Break {
		w.in = w.in[1:]
		return false
	}
	return true
}

func (w *messageWriter) array(h cboritem.Head, depth int) error {
	w.out = append(w.out, '[')
	for n := uint64(0); w.more(h, n); n++ {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(depth + 1); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *messageWriter) object(h cboritem.Head, depth int) error {
	w.out = append(w.out, '{')
	keys := map[string]bool{}
	empty := true
	for n := uint64(0); w.more(h, n); n++ {
		mark := len(w.out)
		if !empty {
			w.out = append(w.out, ',')
		}
		if err := w.key(keys); err != nil {
			return err
		}
		if len(w.in) > 0 && w.in[0] == cboritem.Undefined { // the same as an absent member
			w.in, w.out = w.in[1:], w.out[:mark]
			continue
		}
		w.out = append(w.out, ':')
		if err := w.value(depth + 1); err != nil {
			return err
		}
		empty = false
	}
	w.out = append(w.out, '}')
	return nil
}

// key writes a key of an object. JavaScript changes the order of keys that are numbers, and of two equal ones keeps
// the last.
func (w *messageWriter) key(before map[string]bool) error {
	h, rest, err := cboritem.ReadHead(w.in)
	switch {
	case err != nil:
		return err
	case h.Major != cboritem.MajorText:
		return errNoForm
	}
	w.in = rest
	content, err := w.text(h)
	if err != nil {
		return err
	}
	name := string(content)
	if specialKeys[name] || before[name] || isNumeral(name) {
		return errNoForm
	}
	before[name] = true
	return nil
}

func isNumeral(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// date writes a date that is a member of the message itself. All other tags have no form.
func (w *messageWriter) date(h cboritem.Head, depth int) error {
	if h.N != tagEpoch || h.Indefinite() || depth != 1 {
		return errNoForm
	}
	content, rest, err := cboritem.Split(w.in)
	if err != nil {
		return err
	}
	seconds, ok := cboritem.NumberOf(content)
	ms, isTime := cboritem.Millis(math.Round(seconds * 1000))
	at := time.UnixMilli(int64(ms)).UTC()
	if !ok || !isTime || at.Year() < 0 || at.Year() > 9999 {
		return errNoForm
	}
	w.in = rest
	w.out = append(w.out, '"')
	w.out = at.AppendFormat(w.out, "2006-01-02T15:04:05.000Z")
	w.out = append(w.out, '"')
	return nil
}

func (w *messageWriter) simple(h cboritem.Head) error {
	if f, ok := cboritem.FloatOf(h); ok {
		if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 && math.Signbit(f) {
			return errNoForm // JSON.stringify prints null, and 0 for -0
		}
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
	case h.N == 22:
		w.out = append(w.out, "null"...)
	default:
		return errNoForm
	}
	return nil
}

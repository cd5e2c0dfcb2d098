package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// bytesTag is the "__type" of a byte string in JSON.
const bytesTag = "Uint8Array"

// FromJSON converts one JSON value and keeps the order of keys. {"__type":"Uint8Array","data":"<base64>"} becomes a
// byte string.
func FromJSON(text []byte) (world.Raw, error) {
	if !json.Valid(text) {
		return nil, world.Errorf(world.CodeInvalid, "the body is not one well-formed JSON value")
	}
	t := jsonReader{decoder: json.NewDecoder(bytes.NewReader(text)), out: make([]byte, 0, len(text))}
	t.decoder.UseNumber()
	if err := t.value(0); err != nil {
		return nil, err
	}
	return t.out, nil
}

type jsonReader struct {
	decoder *json.Decoder
	out     []byte
}

func (t *jsonReader) value(depth int) error {
	token, err := t.decoder.Token()
	if err != nil {
		return world.Errorf(world.CodeInvalid, "the body is not well-formed JSON: %v", err)
	}
	return t.item(token, depth)
}

func (t *jsonReader) item(token json.Token, depth int) error {
	if depth >= cboritem.MaxNesting {
		return world.Errorf(world.CodeInvalid, "the body is nested more than %d levels deep", cboritem.MaxNesting)
	}
	switch v := token.(type) {
	case nil:
		t.out = append(t.out, cboritem.Null)
	case bool:
		if v {
			t.out = append(t.out, cboritem.True)
		} else {
			t.out = append(t.out, cboritem.False)
		}
	case string:
		t.out = cboritem.AppendText(t.out, v)
	case json.Number:
		return t.number(v.String())
	case json.Delim:
		if v == '[' {
			return t.array(depth)
		}
		return t.object(depth)
	}
	return nil
}

// number keeps integers exact as far as CBOR has integers for them.
func (t *jsonReader) number(s string) error {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && s != "-0" {
			t.out = cboritem.AppendInt(t.out, n)
			return nil
		}
		if n, err := strconv.ParseUint(s, 10, 64); err == nil {
			t.out = cboritem.AppendHead(t.out, cboritem.MajorUint, n)
			return nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return world.Errorf(world.CodeInvalid, "the number %.40s is out of range", s)
	}
	t.out = binary.BigEndian.AppendUint64(append(t.out, cboritem.Float64), math.Float64bits(f))
	return nil
}

func (t *jsonReader) array(depth int) error {
	at := t.reserve()
	n := 0
	for ; t.decoder.More(); n++ {
		if err := t.value(depth + 1); err != nil {
			return err
		}
	}
	t.fill(at, cboritem.MajorArray, n)
	return t.close()
}

func (t *jsonReader) object(depth int) error {
	at := t.reserve()
	n := 0
	var tagged taggedBytes
	for ; t.decoder.More(); n++ {
		key, err := t.decoder.Token()
		if err != nil {
			return world.Errorf(world.CodeInvalid, "the body is not well-formed JSON: %v", err)
		}
		name, _ := key.(string)
		t.out = cboritem.AppendText(t.out, name)
		value, err := t.decoder.Token()
		if err != nil {
			return world.Errorf(world.CodeInvalid, "the body is not well-formed JSON: %v", err)
		}
		tagged.see(name, value)
		if err := t.item(value, depth+1); err != nil {
			return err
		}
	}
	if tagged.complete(n) {
		raw, err := base64.StdEncoding.DecodeString(tagged.data)
		if err != nil {
			return world.Errorf(world.CodeInvalid, `the data of a {"__type":"Uint8Array"} is not base64`)
		}
		t.out = append(cboritem.AppendHead(t.out[:at], cboritem.MajorBytes, uint64(len(raw))), raw...)
	} else {
		t.fill(at, cboritem.MajorMap, n)
	}
	return t.close()
}

// taggedBytes checks the members of an object for the form of a byte string.
type taggedBytes struct {
	isBytes, hasData bool
	data             string
}

func (b *taggedBytes) see(key string, value json.Token) {
	text, isText := value.(string)
	switch key {
	case "__type":
		b.isBytes = isText && text == bytesTag
	case "data":
		b.hasData, b.data = isText, text
	}
}

func (b *taggedBytes) complete(members int) bool { return members == 2 && b.isBytes && b.hasData }

// reserve makes room for the head of an array or map, whose length is known only at its end.
func (t *jsonReader) reserve() int {
	t.out = append(t.out, 0, 0, 0)
	return len(t.out) - 3
}

// fill writes the head into the three reserved bytes; a longer head is rare and moves the content.
func (t *jsonReader) fill(at int, major byte, n int) {
	if n > math.MaxUint16 {
		t.out = slices.Insert(t.out, at, 0, 0)
		t.out[at] = major<<5 | 26
		binary.BigEndian.PutUint32(t.out[at+1:], uint32(n))
		return
	}
	t.out[at] = major<<5 | 25
	binary.BigEndian.PutUint16(t.out[at+1:], uint16(n))
}

// close reads the closing bracket.
func (t *jsonReader) close() error {
	if _, err := t.decoder.Token(); err != nil {
		return world.Errorf(world.CodeInvalid, "the body is not well-formed JSON: %v", err)
	}
	return nil
}

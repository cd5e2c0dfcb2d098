package livestream

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// The SDK writes a value into a chunk as a frame: a big-endian 32 bit length, the letters
// of a format, and the value (contract §6.1). One of the formats is text: a JSON list whose
// entries refer to each other by their index.
const (
	chunkHeader = 4
	formatText  = "devl"
	formatSize  = 4
	// Limits of the depth, the parts and the bytes of a value for people. A part may be
	// referred to many times, so a small chunk can stand for a huge value.
	readableDepth = 64
	readableParts = 10_000
	// readableBytes is how many bytes the parts of a value may have in addition to the size of the chunk, so that
	// a part may be referred to a few times.
	readableBytes = 1 << 20
)

const (
	// readableChunk is the size up to which a chunk is converted. Larger values are not useful for people.
	readableChunk = 512 << 10
	// readableCopies is how often the bytes of a value are in memory while its line is made.
	readableCopies = 8
	// readableStep is how much memory a value that is larger than its chunk takes at a time.
	readableStep = 16 << 10
	// readableEntries is how many entries lists and maps may have together. They take far more memory than their bytes.
	readableEntries = 4 * readableParts
)

var errNotReadable = errors.New("not a value that people can read")

// readable turns a chunk into one line of JSON for people: the value that the app wrote. The caller has counted memory for
// readableCopies of the chunk; for a larger value, readable calls more with the bytes that it needs. It returns nil if the chunk is
// not readable (encrypted, compressed, not the SDK's, or too large), or if more returns false. Programs must not depend on it.
func readable(chunk []byte, more func(bytes int) bool) (line []byte) {
	value, err := chunkValue(chunk, more)
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // six bytes for one
	if encoder.Encode(value) != nil {
		return nil
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func chunkValue(chunk []byte, more func(bytes int) bool) (any, error) {
	if len(chunk) < chunkHeader+formatSize || len(chunk) > readableChunk || int(binary.BigEndian.Uint32(chunk)) != len(chunk)-chunkHeader {
		return nil, errNotReadable
	}
	text, ok := bytes.CutPrefix(chunk[chunkHeader:], []byte(formatText))
	if !ok {
		return nil, errNotReadable
	}
	if entries(text) > readableEntries {
		return nil, errNotReadable
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReadable, err)
	}
	v := valueReader{list: list, left: readableParts, bytes: len(chunk) + readableBytes, room: len(chunk), more: more}
	return v.at(0, readableDepth)
}

// entries counts the commas of JSON outside of strings.
func entries(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		case c == ',' && !quoted:
			n++
		}
	}
	return n
}

// valueReader reads a value from the list of its parts.
type valueReader struct {
	list  []json.RawMessage
	left  int // how many parts may follow
	bytes int // how many bytes they may have
	room  int // how many bytes of them have memory
	more  func(bytes int) bool
}

// at returns the value at an index, with the values that it refers to.
func (v *valueReader) at(place, depth int) (any, error) {
	if place < 0 {
		return nil, nil // undefined, a hole, NaN and so on, which JSON does not have
	}
	v.left--
	if place >= len(v.list) || depth == 0 || v.left < 0 {
		return nil, errNotReadable
	}
	if !v.fits(len(v.list[place])) {
		return nil, errNotReadable
	}
	var entry any
	if err := json.Unmarshal(v.list[place], &entry); err != nil {
		return nil, err
	}
	switch e := entry.(type) {
	case []any:
		return v.listOf(e, depth)
	case map[string]any:
		for key, ref := range e {
			value, err := v.follow(ref, depth)
			if err != nil {
				return nil, err
			}
			e[key] = value
		}
		return e, nil
	default:
		return e, nil
	}
}

// fits reports whether there is memory for a part of n bytes.
func (v *valueReader) fits(n int) bool {
	v.bytes -= n
	v.room -= n
	if v.bytes < 0 {
		return false
	}
	if v.room >= 0 {
		return true
	}
	step := max(-v.room, min(readableStep, v.bytes))
	v.room += step
	return v.more(step)
}

// listOf reads an array of indexes, or the name of a type and its parts.
func (v *valueReader) listOf(e []any, depth int) (any, error) {
	name, typed := "", false
	if len(e) > 0 {
		name, typed = e[0].(string)
	}
	if typed {
		return v.typed(name, e[1:], depth)
	}
	out := make([]any, len(e))
	for i, ref := range e {
		value, err := v.follow(ref, depth)
		if err != nil {
			return nil, err
		}
		out[i] = value
	}
	return out, nil
}

func (v *valueReader) typed(name string, parts []any, depth int) (any, error) {
	switch {
	case name == "Set":
		return v.listOf(parts, depth)
	case len(parts) != 1:
		return nil, errNotReadable
	}
	if text, ok := parts[0].(string); ok { // such as a Date
		return text, nil
	}
	value, err := v.follow(parts[0], depth)
	if err != nil {
		return nil, err
	}
	return map[string]any{"$" + name: value}, nil
}

func (v *valueReader) follow(ref any, depth int) (any, error) {
	place, ok := ref.(float64)
	if !ok {
		return nil, errNotReadable
	}
	return v.at(int(place), depth-1)
}

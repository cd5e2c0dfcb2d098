package httpapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
)

// Whatever arrives as an event, reading it either fails or gives a sound request: known
// type, well-formed values; and nothing panics.
func FuzzEventBody(f *testing.F) {
	f.Add([]byte(unhex(f, "a1656576656e74a1696576656e74547970656b72756e5f73746172746564")))
	f.Add([]byte(raw(f, m{"event": m{"eventType": "wait_created", "correlationId": "w", "eventData": m{"resumeAt": 1.5}}, "params": m{"eventCount": 3}})))
	f.Add([]byte(`{"event":{"eventType":"run_created","eventData":{"input":{"__type":"Uint8Array","data":"AQ=="}}}}`))
	f.Add([]byte{0xbf, 0xff})
	codec, err := newCodec()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		items := [][]byte{body}
		if fromJSON, err := jsonToCBOR(body); err == nil {
			require.NoError(t, codec.cbor.Wellformed(fromJSON))
			items = append(items, fromJSON)
		}
		for _, item := range items {
			if codec.cbor.Wellformed(item) != nil {
				continue
			}
			req, err := codec.eventRequest(item)
			if err != nil {
				continue
			}
			require.True(t, req.Type.Known())
			for _, field := range req.Data {
				require.NoError(t, codec.cbor.Wellformed(field.Value))
			}
		}
	})
}

// Where an item ends is where the library says that it does, whatever follows it, and whatever is
// not an item is cut without a panic.
func FuzzSplitItem(f *testing.F) {
	nested := append(bytes.Repeat([]byte{0x81}, maxNesting), 0)
	for _, seed := range [][]byte{
		nested, append(bytes.Repeat([]byte{0xc1}, 5000), 0), unhex(f, "bf6161019f6162ffff"), unhex(f, "5f41014102ff"), unhex(f, "7f61616162ff"),
		unhex(f, "a2616101616282f97e00fb3ff0000000000000"), unhex(f, "9bffffffffffffffff"), unhex(f, "bbffffffffffffffff00"), unhex(f, "df"), unhex(f, "f8ff"),
		unhex(f, "3bffffffffffffffff"), unhex(f, "5bffffffffffffffff"), unhex(f, "1c"), nil,
	} {
		f.Add(seed)
	}
	codec, err := newCodec()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		item, rest, err := splitItem(body)
		if plainItem(body) {
			require.NoError(t, codec.cbor.Wellformed(body))
		}
		if codec.cbor.Wellformed(body) == nil {
			require.NoError(t, err)
			require.Empty(t, rest)
			require.Equal(t, body, []byte(item))
			if text, ok := plainText(item); ok {
				var want string
				require.NoError(t, codec.cbor.Unmarshal(item, &want))
				require.Equal(t, want, string(text))
			}
			var number float64
			if got, ok := codec.numberOf(item); ok {
				require.NoError(t, codec.cbor.Unmarshal(item, &number))
				require.Equal(t, math.Float64bits(number), math.Float64bits(got))
			}
			item, rest, err = splitItem(append(body[:len(body):len(body)], 0x01, 0xff))
			require.NoError(t, err)
			require.Equal(t, body, []byte(item))
			require.Len(t, rest, 2)
		}
	})
}

// Whatever is well-formed CBOR becomes valid JSON or an error, and not many times as long: the shortest item is a byte
// string of nothing, which JSON needs 34 bytes for, a few more where it is a key.
func FuzzCBORToJSON(f *testing.F) {
	for _, seed := range []string{"a2616101bf6162f6ffff", "c1fb41d954fc4007df3b", "5f41014102ff", "a1a1a1616102" + "03" + "04", "a18140a0", "c24101", "c16161", "d85643010203", "f97e00"} {
		f.Add([]byte(unhex(f, seed)))
	}
	f.Fuzz(func(t *testing.T, item []byte) {
		out, err := cborToJSON(item, nil)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(out), 64*len(item)+64)
		if cbor.Wellformed(item) == nil {
			require.True(t, json.Valid(out), "%x → %s", item, out)
		}
	})
}

// Whatever is valid JSON becomes well-formed CBOR that JSON can be made of again, or an error.
func FuzzJSONToCBOR(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0,1.5e3,"ü\ud83d",null,true]}`, `{"__type":"Uint8Array","data":"AQ=="}`, `{"data":"*","__type":"Uint8Array"}`, `[[[[]]]]`, `18446744073709551616`, `"\u0000"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		item, err := jsonToCBOR(text)
		if err != nil {
			return
		}
		require.NoError(t, cbor.Wellformed(item))
		require.LessOrEqual(t, len(item), 9*len(text)+16)
		out, err := cborToJSON(item, nil)
		require.NoError(t, err)
		require.True(t, json.Valid(out), "%s → %s", text, out)
	})
}

// Whatever is in a chunk, its view is one line of JSON, no larger than the budget of one.
func FuzzReadable(f *testing.F) {
	for _, seed := range []string{`[[1,1,1],"text"]`, `[{"a":1},[2,-1],["Date","2024-01-01T00:00:00.000Z"]]`, `[["Set",1,0],3]`, `[["Map",0,0]]`, `[[[1]]]`, `[1e99]`, `[[99]]`, `{"a":1}`} {
		f.Add([]byte(formatText+seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, chunk []byte, framed bool) {
		if framed {
			chunk = append(binary.BigEndian.AppendUint32(nil, uint32(len(chunk))), chunk...)
		}
		room := len(chunk)
		line := readable(chunk, func(n int) bool { room += n; return true })
		if line == nil {
			return
		}
		require.True(t, json.Valid(line), "%q → %q", chunk, line)
		require.NotContains(t, string(line), "\n")
		require.LessOrEqual(t, room, len(chunk)+readableBytes+readableStep)
		// A byte that is not UTF-8 is written with three; each part has a little around it.
		require.LessOrEqual(t, len(line), 3*room+64*readableParts)
	})
}

// Whatever a body of chunks is, it is refused or parted without a byte lost.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01a\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		chunks, err := splitFrames(body)
		if err != nil {
			return
		}
		var again []byte
		for _, chunk := range chunks {
			again = append(appendFrameLength(again, uint32(len(chunk))), chunk...)
		}
		require.Equal(t, body, again)
	})
}

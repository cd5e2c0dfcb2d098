package httpapi

import (
	"bytes"
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

// Whatever is well-formed CBOR becomes valid JSON or an error.
func FuzzCBORToJSON(f *testing.F) {
	f.Add([]byte(unhex(f, "a2616101bf6162f6ffff")))
	f.Add([]byte(unhex(f, "c1fb41d954fc4007df3b")))
	f.Add([]byte(unhex(f, "5f41014102ff")))
	f.Fuzz(func(t *testing.T, item []byte) {
		out, err := cborToJSON(item)
		if err != nil {
			return
		}
		if cbor.Wellformed(item) == nil {
			require.True(t, json.Valid(out), "%x → %s", item, out)
		}
	})
}

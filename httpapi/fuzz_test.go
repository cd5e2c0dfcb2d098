package httpapi

import (
	"encoding/json"
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

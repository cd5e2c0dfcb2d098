package httpapi

import (
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/wire"
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
		if fromJSON, err := wire.FromJSON(body); err == nil {
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

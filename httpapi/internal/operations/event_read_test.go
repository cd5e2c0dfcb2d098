package operations

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
	"github.com/world-redis/world-redis/internal/worldtest"
)

type fields = map[string]any

// For any bytes, reading an event either fails or returns a valid request: a known type and well-formed values; it
// never panics.
func FuzzEventBody(f *testing.F) {
	started, err := hex.DecodeString("a1656576656e74a1696576656e74547970656b72756e5f73746172746564")
	require.NoError(f, err)
	f.Add(started)
	f.Add([]byte(worldtest.Raw(f, fields{"event": fields{"eventType": "wait_created", "correlationId": "w", "eventData": fields{"resumeAt": 1.5}}, "params": fields{"eventCount": 3}})))
	f.Add([]byte(`{"event":{"eventType":"run_created","eventData":{"input":{"__type":"Uint8Array","data":"AQ=="}}}}`))
	f.Add([]byte{0xbf, 0xff})
	codec, err := input.NewCBOR()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		items := [][]byte{body}
		if fromJSON, err := wire.FromJSON(body); err == nil {
			require.NoError(t, itemError(codec, fromJSON))
			items = append(items, fromJSON)
		}
		for _, item := range items {
			if itemError(codec, item) != nil {
				continue
			}
			req, err := eventRequest(item)
			if err != nil {
				continue
			}
			require.True(t, req.Type.Known())
			for _, field := range req.Data {
				require.NoError(t, itemError(codec, field.Value))
			}
		}
	})
}

// itemError returns what is wrong with an item.
func itemError(d input.CBOR, item []byte) error {
	_, err := d.Item(item)
	return err
}

func BenchmarkEventBody(b *testing.B) {
	body := worldtest.Raw(b, fields{"event": fields{
		"eventType": "step_completed", "correlationId": "step_1", "specVersion": 7,
		"eventData": fields{"stepName": "step//./workflows/x//add", "result": make([]byte, 1<<20)},
	}, "params": fields{"occurredAt": 1700000000000, "sinceCursor": "12"}})
	codec, err := input.NewCBOR()
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.Item(body); err != nil {
			b.Fatal(err)
		}
		if _, err := eventRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

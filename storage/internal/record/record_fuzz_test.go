package record

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// An encoded record is decoded to the same event, with the payload inside or split off.
func FuzzRecordRoundTrip(f *testing.F) {
	f.Add(uint8(0), "step_1", "resume", "input", []byte{1}, []byte("other"), int64(1_800_000_000_000))
	f.Add(uint8(10), "", "", "error", []byte(strings.Repeat("e", 2000)), []byte{}, int64(0))
	f.Add(uint8(6), "s", "", "input", []byte(strings.Repeat("i", 2000)), []byte{0xf6}, int64(-1))
	f.Add(uint8(6), "step_01M8GS30JGSBBK33CKRC12QBDV", "", "deploymentId", []byte{1}, []byte{2}, int64(0))
	f.Add(uint8(6), "step_01m8gs30jgsbbk33ckrc12qbdv", "", "\x00", []byte{1}, []byte{2}, int64(0))
	f.Add(uint8(6), "hook_Z1M8GS30JGSBBK33CKRC12QBDV", "", "\x00\x01", []byte{1}, []byte{2}, int64(0))
	f.Fuzz(func(t *testing.T, kind uint8, id, resume, key string, value, other []byte, at int64) {
		for _, text := range []string{id, resume, key} {
			if !utf8.ValidString(text) {
				t.Skip("texts of the wire are UTF-8")
			}
		}
		if len(value) == 0 || len(other) == 0 || key == "other" {
			t.Skip("a value of eventData is an item of CBOR, so never empty, and keys differ")
		}
		e := world.Event{
			EventID: EventSlot(0), RunID: "r", Type: kinds[int(kind)%len(kinds)], CorrelationID: id, ResumeID: resume, SpecVersion: int(kind),
			CreatedAt: 1_800_000_000_000, OccurredAt: world.Millis(at),
			Data: world.Fields{{Key: "other", Value: other}, {Key: key, Value: value}},
		}
		record, split, err := Encode(e)
		require.NoError(t, err)
		got, err := Decode("r", 0, "1800000000000."+string(record), split)
		require.NoError(t, err)
		require.Equal(t, e, got)
	})
}

// The meta of a record is written and read as the CBOR library would.
func FuzzMeta(f *testing.F) {
	f.Add("step_1", 3, int64(5), "resume", []byte("\x01"), []byte("value"), 2, true, []byte("short"), []byte{})
	f.Add("", 0, int64(-1<<62), "", []byte(nil), []byte(nil), 0, false, []byte(nil), []byte{0xbf, 0x01, 0x61, 'x', 0xff})
	f.Add("", 24, int64(1<<62), "", make([]byte, 70_000), make([]byte, 300), -25, false, []byte(nil), []byte{0xa1, 0x05, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add("", 1, int64(1), "", []byte(nil), []byte(nil), 1, true, []byte(nil), []byte{0xa1, 0x07, 0xf4})
	f.Fuzz(func(t *testing.T, id string, spec int, at int64, resume string, key, value []byte, payloadAt int, empty bool, short, other []byte) {
		m := meta{CorrelationID: id, SpecVersion: spec, OccurredAt: at, ResumeID: resume, PayloadAt: payloadAt, EmptyData: empty}
		if len(key) > 0 {
			m.Data = [][]byte{key, append([]byte{0}, value...)}
		}
		if len(short) > 0 {
			m.ShortID = short
		}
		encoded := m.append(nil)
		if utf8.ValidString(id) && utf8.ValidString(resume) {
			want, err := cbor.Marshal(m)
			require.NoError(t, err)
			require.Equal(t, want, encoded)
			got, err := decodeMeta(encoded)
			require.NoError(t, err)
			require.Equal(t, m, got)
		}
		if got, ok := readMeta(other); ok {
			var want meta
			if err := cbor.Unmarshal(other, &want); err == nil {
				require.Equal(t, want, got)
			}
		}
	})
}

// Decoding a damaged record returns an error that names the event, and never panics.
func FuzzDecodeRecord(f *testing.F) {
	encoded, _, err := Encode(world.Event{Type: world.EventStepCreated, CorrelationID: "s", Data: world.Fields{{Key: "input", Value: world.Raw{1}}}})
	require.NoError(f, err)
	f.Add("1800000000000" + string(encoded))
	f.Add("1800000000000a5:abc")
	f.Add("1800000000000.a0:")
	f.Add("1.")
	f.Add("")
	f.Fuzz(func(t *testing.T, encoded string) {
		_, err := Decode("r", 0, encoded, nil)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
		}
	})
}

// A reserved claim or a stored hook from Redis never causes a panic, whatever its bytes.
func FuzzClaims(f *testing.F) {
	f.Add("wrun_1 hook_1 nonce")
	f.Add("3 nonce hash 1800000000000")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if held := ParseClaim(text); held != (Claim{}) {
			require.Equal(t, text, held.String())
		}
		if hook, ok := ParseHook("r", "h", text); ok {
			require.Equal(t, "r", hook.RunID)
		}
	})
}

package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// The client has a test that it reads the same from the JSON as from the CBOR (client/test/messageJson.test.ts).
func TestMessageJSON(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/message_json.json")
	require.NoError(t, err)
	var cases []struct{ What, CBOR, JSON string }
	require.NoError(t, json.Unmarshal(file, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		got, err := MessageJSON(worldtest.Unhex(t, c.CBOR))
		require.NoError(t, err, c.What)
		require.Equal(t, c.JSON, string(got), c.What)
	}
	for _, bad := range []string{"", "18", "62" + "61", "81", "a1", "a101", "ff", "1c", "5f01ff", "9f", "bf6161ff", "c1", "0000", "a16161c1", "1f"} {
		_, err := MessageJSON(worldtest.Unhex(t, bad))
		require.Error(t, err, bad)
	}
}

// A message of any form stays short, and whole: what is expensive to write as JSON is one CBOR object.
func TestMessageJSONIsBounded(t *testing.T) {
	t.Parallel()
	deep := append(bytes.Repeat([]byte{0x81}, cboritem.MaxNesting), 0)
	// Each level has a key that is found to have no form only after what is inside it was written.
	nested := []byte{0}
	for range 200 {
		nested = append(append(append([]byte{0xa2, 0x61, 'a'}, nested...), 0x61, '1'), 0)
	}
	for name, item := range map[string][]byte{
		"empty byte strings":         emptyBytes(10_000),
		"control characters":         append(cboritem.AppendHead(nil, cboritem.MajorText, 10_000), bytes.Repeat([]byte{1}, 10_000)...),
		"items without a form":       append(cboritem.AppendHead(nil, cboritem.MajorArray, 10_000), bytes.Repeat([]byte{cboritem.Undefined}, 10_000)...),
		"maps that are found late":   nested,
		"as deep as messages may be": deep,
	} {
		got, err := MessageJSON(item)
		require.NoError(t, err, name)
		require.True(t, json.Valid(got), name)
		require.LessOrEqual(t, len(got), 3*len(item)+1024, name)
	}
	got, err := MessageJSON(nested)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(got), `{"__type":"CBOR"`))
}

// Whatever is a well-formed message becomes valid JSON within the limit.
func FuzzMessageJSON(f *testing.F) {
	for _, seed := range []string{"a2616101bf6162f6ffff", "a16161c1fb41d954fc4007df3b", "5f41014102ff", "a1a1a1616102" + "03" + "04", "c24101", "c16161", "f97e00", "a2616101616102"} {
		f.Add([]byte(worldtest.Unhex(f, seed)))
	}
	mode, err := cbor.DecOptions{MaxNestedLevels: cboritem.MaxNesting, UTF8: cbor.UTF8DecodeInvalid}.DecMode()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, item []byte) {
		out, err := MessageJSON(item)
		if mode.Wellformed(item) == nil {
			require.NoError(t, err, hex.EncodeToString(item))
			require.True(t, json.Valid(out), "%x → %s", item, out)
		}
		require.LessOrEqual(t, len(out), 3*len(item)+4096)
	})
}

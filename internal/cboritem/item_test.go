package cboritem

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// library is the CBOR library with the limits of the API.
func library(t testing.TB) cbor.DecMode {
	t.Helper()
	mode, err := cbor.DecOptions{MaxNestedLevels: MaxNesting, MaxArrayElements: 1 << 26, MaxMapPairs: 1 << 26, UTF8: cbor.UTF8DecodeInvalid}.DecMode()
	require.NoError(t, err)
	return mode
}

// Usual bodies are plain, so the check for unusual ones is skipped.
func TestPlainItems(t *testing.T) {
	t.Parallel()
	require.True(t, Plain(worldtest.Raw(t, map[string]any{"event": map[string]any{"eventType": "step_created", "correlationId": "step_1", "eventData": map[string]any{"input": []byte{1}}}})))
	require.True(t, Plain(worldtest.Raw(t, map[string]any{"calls": []any{map[string]any{"key": "k", "at": 1.5, "n": nil, "list": []int{-1, 1 << 40}}}})))
	require.True(t, Plain(worldtest.Unhex(t, "c11a514b67b0")))
	for _, other := range []string{"", "bf6161f6ff", "a0a0", "a161", "f818", "f8ff", "1c", "ff", "81ff", "9bffffffffffffffff", "bb800000000000000000"} {
		require.False(t, Plain(worldtest.Unhex(t, other)), other)
	}
	require.False(t, Plain(append(bytes.Repeat([]byte{0x81}, plainDepth), 0)))
}

func TestHalfFloatsAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	for h := range 1 << 16 {
		var want float64
		require.NoError(t, cbor.Unmarshal([]byte{0xf9, byte(h >> 8), byte(h)}, &want))
		got := halfFloat(uint16(h))
		if math.IsNaN(want) {
			require.True(t, math.IsNaN(got))
			continue
		}
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), h)
	}
}

// A timestamp may come in any form and becomes one number; a deviation of a millisecond would make the SDK's replay
// diverge.
func TestTimestampOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		item string // CBOR
		want world.Millis
	}{
		"integer":                    {"1b0000018bcfe5687b", 1700000000123},
		"float64 of a whole number":  {"fb4278bcfe5687b000", 1700000000123},
		"small integer":              {"05", 5},
		"half float":                 {"f93c00", 1},
		"before the epoch":           {"24", -5},
		"date, float seconds":        {"c1fb41d954fc4007df3b", 1700000000123},
		"date, rounded, not cut":     {"c1fb3ff004189374bc6a", 1001},
		"date, whole seconds":        {"c11a6553f100", 1700000000000},
		"date as text":               {"c0" + "7818" + hex.EncodeToString([]byte("2023-11-14T22:13:20.123Z")), 1700000000123},
		"ISO text":                   {"7818" + hex.EncodeToString([]byte("2023-11-14T22:13:20.123Z")), 1700000000123},
		"ISO text with an offset":    {"781d" + hex.EncodeToString([]byte("2023-11-14T23:13:20.123+01:00")), 1700000000123},
		"ISO text below a ms is cut": {"781b" + hex.EncodeToString([]byte("2023-11-14T22:13:20.123999Z")), 1700000000123},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ms, ok := TimestampOf(worldtest.Unhex(t, c.item))
			require.True(t, ok)
			require.Equal(t, c.want, ms)
		})
	}
	for name, item := range map[string]string{
		"NaN": "f97e00", "infinity": "f97c00", "beyond a Date": "fb4348000000000000", "word": "6161", "bytes": "4101", "true": "f5",
		"other tag": "c201", "tag 1 of text": "c16161", "tag 0 of a number": "c001", "nothing": "",
	} {
		_, ok := TimestampOf(worldtest.Unhex(t, item))
		require.False(t, ok, name)
	}
}

// An item ends where the library says that it ends, whatever follows it; bytes that are not an item cause an error, and
// no panic.
func FuzzSplit(f *testing.F) {
	nested := append(bytes.Repeat([]byte{0x81}, MaxNesting), 0)
	for _, seed := range [][]byte{
		nested, append(bytes.Repeat([]byte{0xc1}, 5000), 0), worldtest.Unhex(f, "bf6161019f6162ffff"), worldtest.Unhex(f, "5f41014102ff"), worldtest.Unhex(f, "7f61616162ff"),
		worldtest.Unhex(f, "a2616101616282f97e00fb3ff0000000000000"), worldtest.Unhex(f, "9bffffffffffffffff"), worldtest.Unhex(f, "bbffffffffffffffff00"), worldtest.Unhex(f, "df"), worldtest.Unhex(f, "f8ff"),
		worldtest.Unhex(f, "3bffffffffffffffff"), worldtest.Unhex(f, "5bffffffffffffffff"), worldtest.Unhex(f, "1c"), nil,
	} {
		f.Add(seed)
	}
	mode := library(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		item, rest, err := Split(body)
		if Plain(body) {
			require.NoError(t, mode.Wellformed(body))
		}
		if mode.Wellformed(body) == nil {
			require.NoError(t, err)
			require.Empty(t, rest)
			require.Equal(t, body, item)
			if text, ok := PlainText(item); ok {
				var want string
				require.NoError(t, mode.Unmarshal(item, &want))
				require.Equal(t, want, string(text))
			}
			agrees(t, mode, item)
			item, rest, err = Split(append(body[:len(body):len(body)], 0x01, 0xff))
			require.NoError(t, err)
			require.Equal(t, body, item)
			require.Len(t, rest, 2)
		}
	})
}

// agrees compares the decoding of a well-formed item with the library's.
func agrees(t *testing.T, mode cbor.DecMode, item []byte) {
	t.Helper()
	major := MajorOf(item)
	isFloat := item[0] >= 0xf9 && item[0] <= Float64
	var text string
	got, ok := TextOf(item)
	require.Equal(t, major == MajorText && mode.Unmarshal(item, &text) == nil, ok)
	require.Equal(t, text, got)

	var number float64
	isNumber := (major == MajorUint || major == MajorNegint || isFloat) && mode.Unmarshal(item, &number) == nil
	gotNumber, ok := NumberOf(item)
	require.Equal(t, isNumber, ok)
	if isNumber {
		require.Equal(t, math.Float64bits(number), math.Float64bits(gotNumber))
	}
	var whole int64
	gotWhole, ok := WholeOf(item)
	switch {
	case isFloat:
		require.Equal(t, number == math.Trunc(number) && math.Abs(number) <= 1<<53, ok)
		if ok {
			require.InDelta(t, number, float64(gotWhole), 0)
		}
	case isNumber:
		require.Equal(t, mode.Unmarshal(item, &whole) == nil, ok)
		require.Equal(t, whole, gotWhole)
	default:
		require.False(t, ok)
	}
	var flag bool
	gotFlag, ok := BoolOf(item)
	require.Equal(t, len(item) == 1 && (item[0] == True || item[0] == False), ok)
	if ok {
		require.NoError(t, mode.Unmarshal(item, &flag))
		require.Equal(t, flag, gotFlag)
	}
	var tag cbor.RawTag
	number64, content, ok := Untagged(item)
	require.Equal(t, major == MajorTag, ok)
	if ok && mode.Unmarshal(item, &tag) == nil {
		require.Equal(t, tag.Number, number64)
		require.Equal(t, []byte(tag.Content), content)
	}
}

package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/worldtest"
)

func TestJSONToCBOR(t *testing.T) {
	t.Parallel()
	cases := map[string]string{ // JSON → CBOR in hex
		`null`: "f6", `true`: "f5", `false`: "f4", `"ü"`: "62c3bc", `""`: "60",
		`0`: "00", `-1`: "20", `1700000000123`: "1b0000018bcfe5687b", `18446744073709551615`: "1bffffffffffffffff",
		`-0`: "fb8000000000000000", `1.5`: "fb3ff8000000000000", `1e3`: "fb408f400000000000", `18446744073709551616`: "fb43f0000000000000",
		`[]`: "990000", `[1,[2]]`: "9900020199000102", `{}`: "b90000", `{"b":1,"a":2}`: "b900026162016161" + "02",
		`{"__type":"Uint8Array","data":""}`:          "40",
		`{"data":"/w==","__type":"Uint8Array"}`:      "41ff",
		`[{"__type":"Uint8Array","data":"AQ=="},{}]`: "9900024101b90000",
		// An object that only looks like one stays an object.
		`{"__type":"Uint8Array"}`:                  "b90001" + "665f5f74797065" + "6a55696e74384172726179",
		`{"__type":"Uint8Array","data":1}`:         "b90002" + "665f5f74797065" + "6a55696e74384172726179" + "6464617461" + "01",
		`{"__type":"Date","data":""}`:              "b90002" + "665f5f74797065" + "6444617465" + "6464617461" + "60",
		`{"__type":"Uint8Array","data":"","x":[]}`: "b90003" + "665f5f74797065" + "6a55696e74384172726179" + "6464617461" + "60" + "6178" + "990000",
	}
	for text, want := range cases {
		got, err := FromJSON([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, hex.EncodeToString(got), text)
		require.NoError(t, cbor.Wellformed(got), text)
	}
	deep := strings.Repeat("[", cboritem.MaxNesting) + strings.Repeat("]", cboritem.MaxNesting)
	_, err := FromJSON([]byte(deep))
	require.NoError(t, err)
	for _, bad := range []string{
		``, `{`, `[1,]`, `{"a"}`, `nope`, `1 2`, `"\x"`, `1e999`, `{"__type":"Uint8Array","data":"*"}`, "[" + deep + "]", "\xff",
	} {
		_, err := FromJSON([]byte(bad))
		require.Error(t, err, bad)
	}
}

// Long lists get their longer head at the end.
func TestJSONToCBORManyElements(t *testing.T) {
	t.Parallel()
	got, err := FromJSON([]byte("[[" + strings.Repeat("1,", 69_999) + "1],7]"))
	require.NoError(t, err)
	outer, ok := worldtest.Decoded(t, got).([]any)
	require.True(t, ok)
	require.Len(t, outer[0], 70_000)
	require.Equal(t, int64(7), outer[1])
}

func TestCBORToJSON(t *testing.T) {
	t.Parallel()
	cases := map[string]string{ // CBOR in hex → JSON
		"00": "0", "1bffffffffffffffff": "18446744073709551615", "20": "-1", "3bffffffffffffffff": "-18446744073709551616",
		"40": `{"__type":"Uint8Array","data":""}`, "d8404101": `{"__type":"Uint8Array","data":"AQ=="}`, "5f41014102ff": `{"__type":"Uint8Array","data":"AQI="}`,
		"60": `""`, "62c3bc": `"ü"`, "7f61616162ff": `"ab"`, "63" + "eda0bd": `"` + strings.Repeat("\ufffd", 3) + `"`,
		"67" + "22" + "5c" + "0a" + "09" + "01" + "3c" + "7f": `"\"\\\n\t\u0001<` + "\x7f" + `"`,
		"80": "[]", "9f0102ff": "[1,2]", "8301f7f6": "[1,null,null]",
		"a0": "{}", "bf616101ff": `{"a":1}`, "a3616201" + "6161f7" + "616302": `{"b":1,"c":2}`, "a2616101" + "6162f6": `{"a":1,"b":null}`,
		"a16161f7": "{}", "a1054106": `{"5":{"__type":"Uint8Array","data":"Bg=="}}`, "a1820102f5": `{"[1,2]":true}`,
		"f4": "false", "f5": "true", "f6": "null", "f7": "null", "f0": "null", "f8ff": "null",
		"f93c00": "1", "f90001": "5.960464477539063e-8", "f9fc00": "null", "f97e00": "null", "fa3fc00000": "1.5", "fb4278bcfe5687b000": "1700000000123",
		"f98000": "-0", "fb444b1ae4d6e2ef50": "1e+21", "fb01a56e1fc2f8f359": "1e-300", "f9c400": "-4",
		"c1fb41d954fc4007df3b": `"2023-11-14T22:13:20.123Z"`, "c120": `"1969-12-31T23:59:59.000Z"`, "c1f97e00": "null", "c0656869206f68": `"hi oh"`,
		"c249010000000000000000": "18446744073709551616", "c349010000000000000000": "-18446744073709551617",
		"d9010281" + "01": "[1]",
		// A content that does not match its tag is shown as bytes, and the values beside it as usual.
		"c16161": `{"__type":"CBOR","data":"wWFh"}`, "c201": `{"__type":"CBOR","data":"wgE="}`, "c1c101": `{"__type":"CBOR","data":"wcEB"}`,
		"83" + "01" + "c16161" + "02": `[1,{"__type":"CBOR","data":"wWFh"},2]`, "a1" + "c201" + "03": `{"{\"__type\":\"CBOR\",\"data\":\"wgE=\"}":3}`,
		// A key within such a key is the base64 of its bytes; a text key stays text.
		"a1a1a1616102" + "03" + "04": `{"{\"oWFhAg==\":3}":4}`, "a1" + "82a1616101" + "a1" + "8101" + "02" + "f5": `{"[{\"a\":1},{\"gQE=\":2}]":true}`,
		"a2" + "8101" + "01" + "a1810102" + "03":       `{"[1]":1,"{\"gQE=\":2}":3}`,
		"c2590400" + strings.Repeat("00", 1023) + "07": "7",
		"c2590401" + strings.Repeat("00", 1024) + "07": `{"__type":"CBOR","data":"` + base64.StdEncoding.EncodeToString(worldtest.Unhex(t, "c2590401"+strings.Repeat("00", 1024)+"07")) + `"}`,
	}
	for item, want := range cases {
		got, err := ToJSON(worldtest.Unhex(t, item), nil)
		require.NoError(t, err, item)
		require.Equal(t, want, string(got), item)
	}
	for _, bad := range []string{"", "18", "41", "62" + "61", "81", "a1", "a101", "ff", "1c", "5f01ff", "5f5fffff", "5f41", "9f", "bf6161ff", "c1", "c2", "c1ff", "c2ff", "c162", "0000", "f8"} {
		_, err := ToJSON(worldtest.Unhex(t, bad), nil)
		require.Error(t, err, bad)
	}
	_, err := ToJSON(bytes.Repeat([]byte{0x81}, 1<<20), nil)
	require.Error(t, err)

	// Keys in keys: each level would double the backslashes of those below.
	nested := append(bytes.Repeat([]byte{0xa1}, 300), 0)
	got, err := ToJSON(append(nested, make([]byte, 300)...), nil)
	require.NoError(t, err)
	require.True(t, json.Valid(got))
	require.Less(t, len(got), 4096)
}

// emptyBytes is an item with n empty byte strings, each of which is 34 times as long in JSON.
func emptyBytes(n int) world.Raw {
	return append(cboritem.AppendHead(nil, cboritem.MajorArray, uint64(n)), bytes.Repeat([]byte{cboritem.MajorBytes << 5}, n)...)
}

// Text that becomes much longer than its item is passed on in pieces, which together equal the whole.
func TestJSONComesInPieces(t *testing.T) {
	t.Parallel()
	const n = 100_000
	object := cboritem.AppendHead(nil, cboritem.MajorMap, 4)
	object = append(object, 0x61, 'a')
	object = append(object, emptyBytes(n)...)
	object = append(object, 0x61, 'u', cboritem.Undefined, 0x61, 'b')
	object = append(object, emptyBytes(n)...)
	object = append(object, 0x82, 0x01, 0x40, 0x02) // a key that is a list
	for _, item := range []world.Raw{emptyBytes(n), object} {
		whole, err := ToJSON(item, nil)
		require.NoError(t, err)
		require.True(t, json.Valid(whole))
		pieces, got := 0, []byte{}
		most := max(2*len(item), jsonPiece)
		last, err := ToJSON(item, func(piece []byte) error {
			require.LessOrEqual(t, len(piece), most+64)
			pieces++
			got = append(got, piece...)
			return nil
		})
		require.NoError(t, err)
		require.LessOrEqual(t, len(last), most+64)
		require.GreaterOrEqual(t, pieces, len(whole)/most-1)
		require.True(t, bytes.Equal(whole, append(got, last...)))
	}
	// A key that is not text is in memory as a whole, so a long one is shown as its bytes.
	key := append(append(cboritem.AppendHead(nil, cboritem.MajorMap, 1), emptyBytes(longestKey)...), 0x01)
	text, err := ToJSON(key, nil)
	require.NoError(t, err)
	require.Less(t, len(text), 2*len(key))
	require.True(t, json.Valid(text))
}

// Any well-formed CBOR becomes valid JSON or an error, with a bounded growth: the shortest item is an empty byte
// string, which needs 34 bytes in JSON, and a few more as a key.
func FuzzCBORToJSON(f *testing.F) {
	for _, seed := range []string{"a2616101bf6162f6ffff", "c1fb41d954fc4007df3b", "5f41014102ff", "a1a1a1616102" + "03" + "04", "a18140a0", "c24101", "c16161", "d85643010203", "f97e00"} {
		f.Add([]byte(worldtest.Unhex(f, seed)))
	}
	f.Fuzz(func(t *testing.T, item []byte) {
		out, err := ToJSON(item, nil)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(out), 64*len(item)+64)
		if cbor.Wellformed(item) == nil {
			require.True(t, json.Valid(out), "%x → %s", item, out)
		}
	})
}

// Any valid JSON becomes well-formed CBOR that can be turned into JSON again, or an error.
func FuzzJSONToCBOR(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0,1.5e3,"ü\ud83d",null,true]}`, `{"__type":"Uint8Array","data":"AQ=="}`, `{"data":"*","__type":"Uint8Array"}`, `[[[[]]]]`, `18446744073709551616`, `"\u0000"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		item, err := FromJSON(text)
		if err != nil {
			return
		}
		require.NoError(t, cbor.Wellformed(item))
		require.LessOrEqual(t, len(item), 9*len(text)+16)
		out, err := ToJSON(item, nil)
		require.NoError(t, err)
		require.True(t, json.Valid(out), "%s → %s", text, out)
	})
}

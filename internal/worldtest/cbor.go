package worldtest

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Raw encodes a value as CBOR.
func Raw(t testing.TB, v any) world.Raw {
	t.Helper()
	b, err := cbor.Marshal(v)
	require.NoError(t, err)
	return b
}

// Unhex reads CBOR in hex.
func Unhex(t testing.TB, s string) world.Raw {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// Decoded decodes CBOR into plain values.
func Decoded(t testing.TB, b []byte) any {
	t.Helper()
	var v any
	mode, err := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), UTF8: cbor.UTF8DecodeInvalid, IntDec: cbor.IntDecConvertSignedOrBigInt,
	}.DecMode()
	require.NoError(t, err)
	require.NoError(t, mode.Unmarshal(b, &v))
	return v
}

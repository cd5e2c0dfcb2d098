package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// Keys of eventData and ids of the SDK have short forms of a few bytes. Other text that looks like a short form is kept
// apart from them, and an unknown byte is damage.
func TestShortFormsInARecord(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, len(dataKeys), 32, "what follows is printable text")
	e := world.Event{RunID: "r", EventID: "evnt_00000000000000000000000005", Type: world.EventStepCreated, CorrelationID: "step_01M8GS30JGSBBK33CKRC12QBDV", SpecVersion: 3, CreatedAt: 7}
	for _, key := range dataKeys {
		e.Data = append(e.Data, world.Field{Key: key, Value: world.Raw{0x01}})
	}
	record, _, err := Encode(e)
	require.NoError(t, err)
	require.Less(t, len(record), 4*len(dataKeys)+40)
	got, err := Decode("r", 4, "7."+string(record), nil)
	require.NoError(t, err)
	require.Equal(t, e, got)

	seen := map[string]bool{}
	for _, key := range append([]string{"", "a", "\x00", "\x01", "\x00\x01", "\x00\x00", "\x1f", "own", "Input"}, dataKeys...) {
		stored := string(shortKey(key))
		require.False(t, seen[stored], "%q", key)
		seen[stored] = true
		require.Equal(t, key, longKey([]byte(stored)))
	}
	for _, id := range []string{"", "step_1", "step_01m8gs30jgsbbk33ckrc12qbdv", "step_81M8GS30JGSBBK33CKRC12QBDV", "run_01M8GS30JGSBBK33CKRC12QBDV"} {
		require.Nil(t, shortID(id), id)
	}
	for _, damaged := range [][]byte{{}, {0}, append([]byte{9}, make([]byte, 16)...), make([]byte, 18)} {
		_, err := longID(damaged)
		require.ErrorIs(t, err, ErrDamaged)
	}
}

// A record of a run with zero retention that is read by its length loses its payload here, as all others do in Lua.
func TestBareRecord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for _, e := range []world.Event{
		{Type: world.EventRunCreated, Data: storagetest.Data(t, "deploymentId", "d", "workflowName", "w", "executionContext", long, "input", "secret")},
		{Type: world.EventStepFailed, CorrelationID: "step_1", Data: storagetest.Data(t, "error", long)},
	} {
		record, split, err := Encode(e)
		require.NoError(t, err)
		require.Nil(t, split)
		got, err := Decode("wrun_01JZ0000000000000000000000", 0, Bare("1700000000000"+string(record)), nil)
		require.NoError(t, err)
		for _, f := range e.Data {
			if f.Key == e.Type.PayloadKey() {
				require.Empty(t, got.Data.Get(f.Key), f.Key)
			} else {
				require.Equal(t, f.Value, got.Data.Get(f.Key), f.Key)
			}
		}
	}
	require.Equal(t, "damaged", Bare("damaged"))
	require.Equal(t, "1700000000000a9:x", Bare("1700000000000a9:x"))
}

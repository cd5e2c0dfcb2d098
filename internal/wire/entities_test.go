package wire

import (
	"encoding/hex"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

type m = map[string]any

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// raw encodes a value as CBOR.
func raw(t *testing.T, v any) world.Raw {
	t.Helper()
	b, err := cbor.Marshal(v)
	require.NoError(t, err)
	return b
}

// decoded reads an item into plain values.
func decoded(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[m](), IntDec: cbor.IntDecConvertSignedOrBigInt}.DecMode()
	require.NoError(t, err)
	require.NoError(t, mode.Unmarshal(b, &v))
	return v
}

// Shapes grow: a map of more than 23 entries has a longer head, which is made room for.
func TestLongMaps(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 23, 24, 255, 256, 70000} {
		var fields world.Fields
		for i := range n {
			fields = append(fields, world.Field{Key: strconv.Itoa(i), Value: world.Raw{cboritem.True}})
		}
		e := NewEncoder(0)
		e.Array(2)
		Fields(e, fields)
		e.Text("after")
		got, ok := decoded(t, e.Bytes).([]any)
		require.True(t, ok)
		fieldsBack, ok := got[0].(m)
		require.True(t, ok)
		require.Equal(t, n, len(fieldsBack)) //nolint:testifylint // Len would print all of it
		require.Equal(t, "after", got[1])
	}
}

// goldenResults have every field of every entity, and none of them.
func goldenResults(t *testing.T) []world.EventResult {
	t.Helper()
	const runID = "wrun_01HZX0000000000000000000AA"
	run := world.Run{
		RunID: runID, Status: world.RunCompleted, DeploymentID: "dpl_1", WorkflowName: "workflow//a//b", SpecVersion: 7,
		ExecutionContext: raw(t, m{"z": nil}), Input: raw(t, []byte{1, 2}), Output: raw(t, []byte{}), Error: raw(t, m{"message": "x"}),
		ErrorCode: "USER_ERROR", Attributes: raw(t, m{}), EncryptionPublicKey: "key",
		CreatedAt: 1700000000001, UpdatedAt: 1700000000002, StartedAt: 1700000000003, CompletedAt: 1700000000004, ExpiredAt: 1700000000005,
	}
	event := world.Event{
		EventID: "evnt_1", RunID: runID, Type: world.EventWaitCreated, CorrelationID: "wait_1", SpecVersion: 7, CreatedAt: 5, OccurredAt: 1_700_000_000_000, ResumeID: "r",
		Data: world.Fields{{Key: "zzz", Value: raw(t, []byte{})}, {Key: "aaa", Value: raw(t, 1)}, {Key: strings.Repeat("k", 300), Value: raw(t, "x")}, {Key: "gone"}},
	}
	step := world.Step{
		RunID: runID, StepID: "step_1", StepName: "step//x", Status: world.StepRunning, Input: raw(t, []byte("i")), Output: raw(t, []byte("o")),
		Error: raw(t, "e"), Attempt: 2, SpecVersion: 3, CreatedAt: 1, UpdatedAt: 2, StartedAt: 3, CompletedAt: 4, RetryAfter: 1 << 40,
	}
	hook := world.Hook{
		RunID: runID, HookID: "hook_1", Token: "t", OwnerID: "o", ProjectID: "p", Environment: "e", Metadata: raw(t, []byte{}), IsWebhook: true, IsSystem: true,
		SpecVersion: 6, CreatedAt: 9, TokenRetentionUntil: 10,
		Resume: &world.HookResume{
			DeploymentID: "d", WorkflowName: "w", RunSpecVersion: 7, WorkflowCoreVersion: "5", TraceCarrier: raw(t, m{"a": "b"}), EncryptionPublicKey: "k",
			InputVersion: 1, DedupVersion: 2,
		},
	}
	wait := world.Wait{WaitID: "wait_1", RunID: runID, Status: "waiting", ResumeAt: 1, CompletedAt: 2, CreatedAt: 3, UpdatedAt: 4, SpecVersion: 5}
	many := world.Event{RunID: runID, Type: world.EventAttrSet}
	for range 300 {
		many.Data = append(many.Data, world.Field{Key: "k", Value: raw(t, true)})
	}
	return []world.EventResult{
		{},
		{Event: &event, Run: &run, Step: &step, Hook: &hook, Wait: &wait, MaxEvents: 25_000, StepCreated: true},
		{Events: []world.Event{event, {}}, Cursor: "c", HasMore: true},
		{Events: []world.Event{many}, Run: &world.Run{}, Step: &world.Step{Attempt: -1}, Hook: &world.Hook{}, Wait: &world.Wait{}},
	}
}

// What the clients of earlier versions read is what they get, to the byte.
func TestAnswersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/results.hex")
	require.NoError(t, err)
	var got strings.Builder
	for _, r := range goldenResults(t) {
		got.WriteString(hex.EncodeToString(EncodeResult(&r)) + "\n")
	}
	require.Equal(t, string(want), got.String())
}

package wire

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/worldtest"
)

type m = map[string]any

// A map of more than 23 entries has a longer head, for which room is made.
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
		got, ok := worldtest.Decoded(t, e.Bytes).([]any)
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
		ExecutionContext: worldtest.Raw(t, m{"z": nil}), Input: worldtest.Raw(t, []byte{1, 2}), Output: worldtest.Raw(t, []byte{}), Error: worldtest.Raw(t, m{"message": "x"}),
		ErrorCode: "USER_ERROR", Attributes: worldtest.Raw(t, m{}), EncryptionPublicKey: "key",
		CreatedAt: 1700000000001, UpdatedAt: 1700000000002, StartedAt: 1700000000003, CompletedAt: 1700000000004, ExpiredAt: 1700000000005,
	}
	event := world.Event{
		EventID: "evnt_1", RunID: runID, Type: world.EventWaitCreated, CorrelationID: "wait_1", SpecVersion: 7, CreatedAt: 5, OccurredAt: 1_700_000_000_000, ResumeID: "r",
		Data: world.Fields{{Key: "zzz", Value: worldtest.Raw(t, []byte{})}, {Key: "aaa", Value: worldtest.Raw(t, 1)}, {Key: strings.Repeat("k", 300), Value: worldtest.Raw(t, "x")}, {Key: "gone"}},
	}
	step := world.Step{
		RunID: runID, StepID: "step_1", StepName: "step//x", Status: world.StepRunning, Input: worldtest.Raw(t, []byte("i")), Output: worldtest.Raw(t, []byte("o")),
		Error: worldtest.Raw(t, "e"), Attempt: 2, SpecVersion: 3, CreatedAt: 1, UpdatedAt: 2, StartedAt: 3, CompletedAt: 4, RetryAfter: 1 << 40,
	}
	hook := world.Hook{
		RunID: runID, HookID: "hook_1", Token: "t", OwnerID: "o", ProjectID: "p", Environment: "e", Metadata: worldtest.Raw(t, []byte{}), IsWebhook: true, IsSystem: true,
		SpecVersion: 6, CreatedAt: 9, TokenRetentionUntil: 10,
		Resume: &world.HookResume{
			DeploymentID: "d", WorkflowName: "w", RunSpecVersion: 7, WorkflowCoreVersion: "5", TraceCarrier: worldtest.Raw(t, m{"a": "b"}), EncryptionPublicKey: "k",
			InputVersion: 1, DedupVersion: 2,
		},
	}
	wait := world.Wait{WaitID: "wait_1", RunID: runID, Status: "waiting", ResumeAt: 1, CompletedAt: 2, CreatedAt: 3, UpdatedAt: 4, SpecVersion: 5}
	many := world.Event{RunID: runID, Type: world.EventAttrSet}
	for range 300 {
		many.Data = append(many.Data, world.Field{Key: "k", Value: worldtest.Raw(t, true)})
	}
	return []world.EventResult{
		{},
		{Event: &event, Run: &run, Step: &step, Hook: &hook, Wait: &wait, MaxEvents: 25_000, StepCreated: true},
		{Events: []world.Event{event, {}}, Cursor: "c", HasMore: true},
		{Events: []world.Event{many}, Run: &world.Run{}, Step: &world.Step{Attempt: -1}, Hook: &world.Hook{}, Wait: &world.Wait{}},
	}
}

// Clients of earlier versions get the same answers as before, to the byte.
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

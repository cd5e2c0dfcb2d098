package record

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// goldenEvents has one event of each type, and events whose records have rare fields.
func goldenEvents(t *testing.T) []world.Event {
	t.Helper()
	out := []world.Event{
		{Type: world.EventRunCancelled},
		{Type: world.EventRunStarted, Data: world.Fields{}},
		{
			Type: world.EventHookReceived, CorrelationID: "mine", ResumeID: "resume", OccurredAt: 1_800_000_000_123, SpecVersion: 300,
			Data: storagetest.Data(t, "payload", strings.Repeat("p", SplitAbove+1), "x", 1.5),
		},
		{
			Type: world.EventStepFailed, CorrelationID: "hook_01M8GS30JGSBBK33CKRC12QBDV", OccurredAt: -1, SpecVersion: -300,
			Data: storagetest.Data(t, "error", strings.Repeat("e", 3_000)),
		},
		{
			Type: world.EventStepCreated, CorrelationID: strings.Repeat("c", 256),
			Data: storagetest.Data(t, "a", nil, "\x00b", true, "stepName", strings.Repeat("s", 300), "input", map[string]any{"z": 1 << 40}),
		},
	}
	for i, kind := range kinds {
		out = append(out, world.Event{
			Type: kind, CorrelationID: "step_01M8GS30JGSBBK33CKRC12QBDV", SpecVersion: i,
			Data: storagetest.Data(t, "stepName", "add", "input", i, "result", []byte{1, 2}, "error", "e"),
		})
	}
	return out
}

// Records are byte for byte what earlier versions wrote, and what they read during a rolling upgrade.
func TestRecordsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, e := range goldenEvents(t) {
		record, split, err := Encode(e)
		require.NoError(t, err)
		got.WriteString(hex.EncodeToString(record) + " " + hex.EncodeToString(split) + "\n")
		e.RunID = "wrun_01JZ0000000000000000000000"
		e.CreatedAt, e.EventID = 7, EventID(e.RunID, 7, 0, true)
		back, err := Decode(e.RunID, 0, "7."+string(record), split)
		require.NoError(t, err)
		require.Equal(t, e, back)
	}
	want, err := os.ReadFile("testdata/records.hex")
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

package storagetest

import (
	"maps"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// What the contract says of attributes (§3.5).
const (
	firstAttributeSpec = 4
	writerWorkflow     = "workflow"
	writerStep         = "step"
)

// textOf returns a text of eventData, "" when it is absent.
func textOf(fields world.Fields, key string) string {
	text, _ := cboritem.TextOf(fields.Get(key))
	return text
}

// millisOf returns a timestamp of eventData, 0 when it is absent.
func millisOf(fields world.Fields, key string) world.Millis {
	ms, _ := cboritem.TimestampOf(fields.Get(key))
	return ms
}

// firstAttributes returns the attributes that a run is created with.
func firstAttributes(fields world.Fields) map[string]string {
	out := map[string]string{}
	_ = cbor.Unmarshal(fields.Get("attributes"), &out) // absent, or made here
	return out
}

// apply returns attributes after an attr_set, and the type of its writer.
func applyChanges(before map[string]string, fields world.Fields) (after map[string]string, writer string) {
	var changes []struct {
		Key   string  `cbor:"key"`
		Value *string `cbor:"value"`
	}
	var by struct {
		Type string `cbor:"type"`
	}
	_ = cbor.Unmarshal(fields.Get("changes"), &changes) // made here
	_ = cbor.Unmarshal(fields.Get("writer"), &by)
	after = maps.Clone(before)
	for _, ch := range changes {
		if delete(after, ch.Key); ch.Value != nil {
			after[ch.Key] = *ch.Value
		}
	}
	return after, by.Type
}

// AttributesOf returns the attributes of a run.
func AttributesOf(t testing.TB, run *world.Run) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, cbor.Unmarshal(run.Attributes, &out))
	return out
}

// SlotOf reads the slot number off an event id.
func SlotOf(eventID string) int {
	n := 0
	for _, c := range eventID[len("evnt_"):] {
		n = 10*n + int(c-'0')
	}
	return n
}

// ItemCodes is what became of each event of a batch, "" for those that stand.
func ItemCodes(items []world.BatchItem) []world.Code {
	out := make([]world.Code, len(items))
	for i, item := range items {
		if item.Err != nil {
			out[i] = item.Err.Code
		}
	}
	return out
}

func endsRun(t world.EventType) bool {
	return slices.Contains([]world.EventType{world.EventRunCompleted, world.EventRunFailed}, t)
}

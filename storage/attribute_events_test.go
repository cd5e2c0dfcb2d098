package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// The attributes of a new run are stored with it, whichever event creates it, and later changes merge into them.
func TestAttributesMerge(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		first := append(b.runData(), data(t, "attributes", map[string]string{"a": "1", "$root": "r", "ü": ""},
			"allowReservedAttributes", true, "encryptionPublicKey", "key=")...)
		offered := b.ids.Prefixed("wrun_")
		created := b.send("", world.EventRunCreated, "", first)
		resilient := b.send(offered, world.EventRunStarted, "", first)
		for _, run := range []*world.Run{created.Run, resilient.Run} {
			require.Equal(t, map[string]string{"a": "1", "$root": "r", "ü": ""}, storagetest.AttributesOf(t, run))
			require.Equal(t, "key=", run.EncryptionPublicKey)
			read, err := b.GetRun(b.ctx, run.RunID, true)
			require.NoError(t, err)
			require.Equal(t, run.Attributes, read.Attributes)
			require.Equal(t, "key=", read.EncryptionPublicKey)
		}
		require.Equal(t, first, b.events(offered)[0].Data)
		b.clock.Add(1)
		change := b.caller().Changes(writerWorkflow, "a", nil, "b", "2", "ü", "é", "gone", nil)
		got := b.send(offered, world.EventAttrSet, "attr_1", change)
		require.Equal(t, map[string]string{"$root": "r", "b": "2", "ü": "é"}, storagetest.AttributesOf(t, got.Run))
		require.Equal(t, b.now(), got.Run.UpdatedAt)
		require.Equal(t, raw(t, []byte("in")), got.Run.Input)
		require.Equal(t, change, got.Event.Data)
		none, err := b.CreateEvent(b.ctx, world.CreateEvent{
			RunID: offered, Type: world.EventAttrSet, SpecVersion: 7, Data: b.caller().Changes(writerStep, "c", "3"), ResolveNone: true,
		})
		require.NoError(t, err)
		require.Nil(t, none.Run.Input)
		require.Equal(t, map[string]string{"$root": "r", "b": "2", "c": "3", "ü": "é"}, storagetest.AttributesOf(t, none.Run))
		ended := b.send(offered, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		require.Equal(t, storagetest.AttributesOf(t, none.Run), storagetest.AttributesOf(t, ended.Run))
	})
}

// A workflow's write counts once per correlation id; a step's write counts each time.
func TestAttributeWriters(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t)).on(t, 7)
	runID := b.running()
	b.send(runID, world.EventAttrSet, "attr_1", b.caller().Changes(writerWorkflow, "k", "1"))
	_, err := b.try(runID, world.EventAttrSet, "attr_1", b.caller().Changes(writerWorkflow, "k", "2"))
	require.Equal(t, world.CodeConflict, world.ErrorCode(err))
	b.send(runID, world.EventAttrSet, "", b.caller().Changes(writerStep, "k", "3"))
	b.send(runID, world.EventAttrSet, "", b.caller().Changes(writerStep, "k", "3"))
	require.Len(t, b.events(runID), 5)
	b.send(runID, world.EventAttrSet, "attr_s", b.caller().Changes(writerStep, "k", "3"))
	b.send(runID, world.EventAttrSet, "attr_s", b.caller().Changes(writerStep, "k", "3"))
	// A refused write does not use up its correlation id.
	_, err = b.try(runID, world.EventAttrSet, "attr_2", b.caller().Changes(writerWorkflow, "", "2"))
	require.Equal(t, world.CodeAttributeInvalid, world.ErrorCode(err))
	b.send(runID, world.EventAttrSet, "attr_2", b.caller().Changes(writerWorkflow, "k", "2"))
}

// The rules for attributes: the nearest value that is refused, and the nearest that is allowed.
func TestAttributeRules(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.running()
		reserved := append(b.caller().Changes(writerWorkflow, "$k", "v"), data(t, "allowReservedAttributes", true)...)
		many := func(n int) []any {
			var pairs []any
			for i := range n {
				pairs = append(pairs, fmt.Sprintf("key %02d", i), strings.Repeat("v", 200))
			}
			return pairs
		}
		for name, c := range map[string]struct {
			data world.Fields
			want world.Code
		}{
			"256 units":            {b.caller().Changes(writerStep, strings.Repeat("k", 256), "v"), ""},
			"257 units":            {b.caller().Changes(writerStep, strings.Repeat("k", 257), "v"), world.CodeAttributeInvalid},
			"128 emoji":            {b.caller().Changes(writerStep, strings.Repeat("🪝", 128), "v"), ""},
			"129 emoji":            {b.caller().Changes(writerStep, strings.Repeat("🪝", 129), "v"), world.CodeAttributeInvalid},
			"256 bytes":            {b.caller().Changes(writerStep, "k", strings.Repeat("é", 128)), ""},
			"258 bytes":            {b.caller().Changes(writerStep, "k", strings.Repeat("é", 129)), world.CodeAttributeInvalid},
			"no key":               {b.caller().Changes(writerStep, "", "v"), world.CodeAttributeInvalid},
			"a number":             {b.caller().Changes(writerStep, "k", 7), world.CodeAttributeInvalid},
			"a number as key":      {b.caller().Changes(writerStep, 7, "v"), world.CodeAttributeInvalid},
			"twice":                {b.caller().Changes(writerStep, "k", "1", "k", nil), world.CodeAttributeInvalid},
			"reserved":             {b.caller().Changes(writerStep, "$k", "v"), world.CodeAttributeInvalid},
			"reserved and removed": {b.caller().Changes(writerStep, "$k", nil), world.CodeAttributeInvalid},
			"reserved, allowed":    {reserved, ""},
			"no writer":            {b.caller().Changes("nobody", "k", "v"), world.CodeAttributeInvalid},
			"no changes":           {data(t, "writer", map[string]string{"type": writerStep}), world.CodeAttributeInvalid},
			"nothing changed":      {b.caller().Changes(writerStep), ""},
			"8,192 bytes of JSON":  {b.caller().Changes(writerStep, many(37)...), world.CodeAttributeInvalid},
		} {
			_, err := b.try(runID, world.EventAttrSet, "", c.data)
			require.Equal(t, c.want, world.ErrorCode(err), "%s: %v", name, err)
		}
		for name, first := range map[string]any{
			"a number": map[string]any{"k": 7}, "null": map[string]any{"k": nil}, "reserved": map[string]string{"$k": "v"},
			"a list": []string{"k"}, "too long": map[string]string{"k": strings.Repeat("v", 257)},
		} {
			for _, e := range []world.EventType{world.EventRunCreated, world.EventRunStarted} {
				_, err := b.try(b.ids.Prefixed("wrun_"), e, "", append(b.runData(), data(t, "attributes", first)...))
				require.Equal(t, world.CodeAttributeInvalid, world.ErrorCode(err), "%s %s", e, name)
			}
		}
	})
}

// JSON counts characters as JavaScript writes them.
func TestAttributeDataSize(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	for want, fields := range map[string]world.Fields{
		`{"changes":[{"key":"a<b>","value":"\"\n\u0001é"},{"key":"x","value":null}],"writer":{"attempt":1,"stepId":"s","type":"step"}}`: b.caller().Changes(writerStep, "a<b>", "\"\n\x01é", "x", nil),
		`{"changes":[],"writer":{"attempt":1,"stepId":"s","type":"step"}}`:                                                              b.caller().Changes(writerStep),
	} {
		got, err := jsonSize(fields)
		require.NoError(t, err)
		require.Equal(t, len(want), got, want)
	}
}

// A run has at most 64 attributes, counted after the changes.
func TestAttributeCount(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		first := map[string]string{}
		for i := range 63 {
			first[fmt.Sprintf("k%d", i)] = "v"
		}
		runID := b.send("", world.EventRunCreated, "", append(b.runData(), data(t, "attributes", first)...)).Run.RunID
		_, err := b.try(runID, world.EventAttrSet, "attr_1", b.caller().Changes(writerWorkflow, "a", "1", "b", "1"))
		require.Equal(t, world.CodeAttributeInvalid, world.ErrorCode(err))
		require.ErrorContains(t, err, "65")
		require.Len(t, b.events(runID), 1)
		b.send(runID, world.EventAttrSet, "attr_1", b.caller().Changes(writerWorkflow, "a", "1", "b", "1", "k0", nil, "k1", "w"))
		run, err := b.GetRun(b.ctx, runID, true)
		require.NoError(t, err)
		require.Len(t, storagetest.AttributesOf(t, &run), 64)
		_, err = b.try(runID, world.EventAttrSet, "attr_2", b.caller().Changes(writerWorkflow, "c", "1"))
		require.Equal(t, world.CodeAttributeInvalid, world.ErrorCode(err))
		first["k63"], first["k64"] = "v", "v"
		_, err = b.try("", world.EventRunCreated, "", append(b.runData(), data(t, "attributes", first)...))
		require.Equal(t, world.CodeAttributeInvalid, world.ErrorCode(err))
	})
}

// Callers on two replicas change attributes concurrently; no change is lost.
func TestAttributesUnderConcurrency(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	b := all[0].on(t, 7)
	runID := b.running()
	var calls []func() error
	for i := range 60 {
		on := all[i%2].on(t, 7)
		event := on.caller().Changes(writerWorkflow, fmt.Sprintf("k%d", i), "v", "last", fmt.Sprint(i))
		calls = append(calls, func() error {
			_, err := on.try(runID, world.EventAttrSet, fmt.Sprintf("attr_%d", i), event)
			return err
		})
	}
	require.Equal(t, map[world.Code]int{"": 60}, codes(together(calls...)))
	run, err := b.GetRun(b.ctx, runID, true)
	require.NoError(t, err)
	got := storagetest.AttributesOf(t, &run)
	require.Len(t, got, 61)
	past, err := b.pastOf(b.ctx, runID, 61)
	require.NoError(t, err)
	require.Equal(t, past.attributes, got, "the attributes are the fold of the log")
}

// A run of SDK v4 takes no attributes: its replay would stop at an event that it does not know.
func TestAttributesOfARunWhoseSDKHasNone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		runID := b.newRun()
		before := b.events(runID)
		_, err := b.CreateEvent(b.ctx, world.CreateEvent{RunID: runID, Type: world.EventAttrSet, SpecVersion: 7, Data: b.caller().Changes(writerStep, "a", "1")})
		require.Equal(t, world.CodeAttributeInvalid, world.ErrorCode(err))
		require.ErrorContains(t, err, "spec version 3")
		require.Equal(t, before, b.events(runID))
	})
}

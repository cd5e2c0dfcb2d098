package streaming_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// Redis refuses each command of each script in turn: readers see the state before the call, and the repeated call has
// the right result: each chunk once, each end once.
func TestACommandThatIsRefusedBreaksNoStream(t *testing.T) {
	t.Parallel()
	texts, err := streaming.ScriptTexts()
	require.NoError(t, err)
	r := redistest.NewRefused(t, texts)
	r.Visible = visibleStreams
	steps := &logs{steps: map[string][]string{"wrun_1": {"step_1"}}}
	s := start(t, r.Client, "refused:", neverAudit, func(c *streaming.Config) { c.Steps = steps })
	write := func(a world.Append, chunks ...string) {
		t.Helper()
		a.RunID = "wrun_1"
		for _, chunk := range chunks {
			a.Chunks = append(a.Chunks, []byte(chunk))
		}
		_, err := s.AppendChunks(t.Context(), a)
		require.NoError(t, err)
	}
	step := func(attempt int64) []world.StreamStep { return []world.StreamStep{{ID: "step_1", Attempt: attempt}} }
	end := func(name string, steps []world.StreamStep) {
		t.Helper()
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: name, RunID: "wrun_1", Steps: steps}))
	}
	// By request ids, by a writer's own numbers, and without the script.
	write(world.Append{Name: "plain"}, "a", "b")
	write(world.Append{Name: "plain"}, "c")
	write(world.Append{Name: "numbered", WriterID: "w"}, "a", "b")
	write(world.Append{Name: "numbered", WriterID: "w", Sequence: 1}, "b", "c")
	write(world.Append{Name: "large"}, "a")
	write(world.Append{Name: "large"}, strings.Repeat("x", 300<<10))
	end("plain", nil)
	// A step that closed its stream writes after the end.
	write(world.Append{Name: "of a step", Steps: step(1)}, "a")
	end("of a step", step(1))
	write(world.Append{Name: "of a step", Steps: step(2)}, "b")
	end("of a step", step(2))
	write(world.Append{Name: "closed by another", Steps: step(1)}, "a")
	end("closed by another", nil)
	// The step is in no log any more, so another one writes after the end.
	write(world.Append{Name: "taken over", Steps: step(1)}, "a")
	end("taken over", step(1))
	steps.set("wrun_1", "step_2")
	write(world.Append{Name: "taken over", Steps: []world.StreamStep{{ID: "step_2", Attempt: 1}}}, "b")
	// A health check's stream expires.
	check := "__health_check__x"
	write(world.Append{Name: check}, "a")
	end(check, nil)
	for name, want := range map[string]string{"plain": "abc", "numbered": "abc", "of a step": "a", "closed by another": "a", "taken over": "a"} {
		var got []byte
		for _, chunk := range all(t, s, name) {
			got = append(got, chunk.Data...)
		}
		require.Equal(t, want, string(got), name)
	}
	require.NoError(t, s.PurgeRun(t.Context(), "wrun_1"))
	require.NoError(t, s.PurgeRun(t.Context(), "wrun_1"))
	r.Check(texts, nil)
}

// visibleStreams leaves out what readers do not see: chunks that the stream does not count, and the time of the last
// append in the state, which says only that there may have been one.
func visibleStreams(s redistest.State) {
	const metas, streams = "refused:stream_meta:", "refused:stream:"
	for key, meta := range s {
		if !strings.HasPrefix(key, metas) {
			continue
		}
		delete(meta, "t")
		if meta["n"] == "0" && meta["eof"] == "" {
			delete(meta, "n")
		}
		if len(meta) == 0 {
			delete(s, key)
		}
	}
	for key, entries := range s {
		tag, is := strings.CutPrefix(key, streams)
		if !is {
			continue
		}
		meta := s[metas+tag]
		n, _ := strconv.Atoi(meta["n"])
		if meta["eof"] != "" {
			n++
		}
		for id := range entries {
			if index, _ := strconv.Atoi(strings.TrimSuffix(id, "-0")); id != "TTL" && index > n {
				delete(entries, id)
			}
		}
		if len(entries) == 0 {
			delete(s, key)
		}
	}
}

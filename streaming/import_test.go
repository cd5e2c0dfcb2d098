package streaming_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

var errCut = errors.New("the file ends")

// partsUntil yields parts up to a place, and then an error; a negative place is none.
func partsUntil(parts []world.RunPart, cut int) func(func(world.RunPart, error) bool) {
	return func(yield func(world.RunPart, error) bool) {
		for at, part := range parts {
			if at == cut {
				yield(world.RunPart{}, errCut)
				return
			}
			if !yield(part, nil) {
				return
			}
		}
	}
}

// copied are streams as a copy has them: one with ends between its chunks, an open one, an empty closed one, an empty open one.
func copied() []world.RunPart {
	parts := []world.RunPart{{Event: &world.Event{}}, {Stream: &world.StreamCopy{Name: "ends", Count: 7, Ends: []int64{2, 5, 7}}}}
	for _, index := range []int64{0, 1, 3, 4, 6} {
		parts = append(parts, world.RunPart{Chunk: &world.Chunk{Index: index, Data: fmt.Append(nil, index)}})
	}
	return append(parts,
		world.RunPart{Stream: &world.StreamCopy{Name: "open", Count: 2}},
		world.RunPart{Chunk: &world.Chunk{Index: 0, Data: []byte("a")}}, world.RunPart{Chunk: &world.Chunk{Index: 1, Data: nil}},
		world.RunPart{Stream: &world.StreamCopy{Name: "closed", Ends: []int64{0}}},
		world.RunPart{Stream: &world.StreamCopy{Name: "empty"}})
}

// Imported streams have the indexes and ends of the copy, also if the import was interrupted at any part and repeated.
func TestImportedStreamsAreTheSame(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		ctx, parts := t.Context(), copied()
		for cut := -1; cut < len(parts); cut++ {
			s := start(t, r.Client, fmt.Sprintf("%s%d:", r.Prefix, cut+1))
			if cut >= 0 {
				require.ErrorIs(t, s.ImportStreams(ctx, "wrun_1", partsUntil(parts, cut)), errCut)
			}
			for range 2 {
				require.NoError(t, s.ImportStreams(ctx, "wrun_1", partsUntil(parts, -1)), "cut at %d", cut)
			}
			for from, want := range map[int64]string{0: "0 1", 1: "1", 2: "", 3: "3 4", 5: "", 6: "6"} {
				page, err := s.ListChunks(ctx, "ends", world.PageRequest{Cursor: fmt.Sprint(from)})
				require.NoError(t, err)
				require.Equal(t, want, joined(page.Data), "from %d, cut at %d", from, cut)
				require.True(t, page.Done)
			}
			info, err := s.StreamInfo(ctx, "open", 0)
			require.NoError(t, err)
			require.Equal(t, world.StreamInfo{TailIndex: 1, Count: 2}, info)
			info, err = s.StreamInfo(ctx, "closed", 0)
			require.NoError(t, err)
			require.Equal(t, world.StreamInfo{TailIndex: -1, Done: true}, info)
			names, err := s.ListStreams(ctx, "wrun_1", world.PageRequest{})
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"ends", "open", "closed", "empty"}, names.Data)
		}
	})
}

// After an import any step may write behind an end: the one that wrote it is not known any more.
func TestAStepWritesToAnImportedStream(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a, logs := startWithLogs(t, r)
		logs.set("wrun_1", "step_1")
		parts := []world.RunPart{{Stream: &world.StreamCopy{Name: "st", Count: 1, Ends: []int64{1}}}, {Chunk: &world.Chunk{Data: []byte("a")}}}
		require.NoError(t, a.on().ImportStreams(t.Context(), "wrun_1", partsUntil(parts, -1)))
		a.writes(2, step(2), "b")
		a.closes(step(2), "")
		a.finds(map[int64]string{0: "a", 2: "b"})
	})
}

// A copy that contradicts itself is refused.
func TestStreamsThatCannotBeImported(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for sentence, parts := range map[string][]world.RunPart{
			"a chunk of no stream":  {{Chunk: &world.Chunk{}}},
			"lacks chunk 0":         {{Stream: &world.StreamCopy{Name: "a", Count: 2}}, {Chunk: &world.Chunk{Index: 1}}},
			"lacks chunk 1":         {{Stream: &world.StreamCopy{Name: "b", Count: 2}}, {Chunk: &world.Chunk{Index: 0}}},
			"chunk 0 after chunk 0": {{Stream: &world.StreamCopy{Name: "c", Count: 2}}, {Chunk: &world.Chunk{}}, {Chunk: &world.Chunk{}}},
			"a stream name has":     {{Stream: &world.StreamCopy{Name: ""}}},
		} {
			err := start(t, r.Client, r.Prefix).ImportStreams(t.Context(), "wrun_1", partsUntil(parts, -1))
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), "%v", err)
			require.ErrorContains(t, err, sentence)
		}
	})
}

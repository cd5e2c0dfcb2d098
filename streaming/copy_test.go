package streaming_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// copiedStream is a stream in a copy, with its chunks.
type copiedStream struct {
	world.StreamCopy
	chunks []world.Chunk
}

func copyStreams(t *testing.T, s *streaming.Service, runID string) []copiedStream {
	t.Helper()
	all, err := s.CopyStreams(t.Context(), []string{"wrun_none", runID})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Nil(t, all[0], "a run without streams")
	require.NotNil(t, all[1])
	var out []copiedStream
	for part, err := range all[1] {
		require.NoError(t, err)
		if part.Stream != nil {
			out = append(out, copiedStream{StreamCopy: *part.Stream})
			continue
		}
		last := &out[len(out)-1]
		last.chunks = append(last.chunks, *part.Chunk)
	}
	return out
}

// A copy has every chunk at its index, and the indexes of the ends.
func TestACopyHasAllStreamsOfARun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		write(t, s, "small", "a", "", "c")
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "small", RunID: "wrun_1"}))
		write(t, s, "open", numbered(0, 2500)...)
		large := []string{strings.Repeat("x", 700_000), strings.Repeat("y", 3_000_000), "z", strings.Repeat("w", 700_000)}
		for _, chunk := range large {
			write(t, s, "large", chunk)
		}
		a := &attempts{t: t, replicas: []*streaming.Service{s, s}}
		a.writes(0, step(1), "a1", "b1")
		a.closes(step(1), "one")
		a.writes(3, step(2), "a2")
		a.closes(step(2), "two")
		a.writes(5, step(3), "a3")

		require.Equal(t, []copiedStream{
			{StreamCopy: world.StreamCopy{Name: "small", Count: 3, Ends: []int64{3}}, chunks: chunks(0, "a", "", "c")},
			{StreamCopy: world.StreamCopy{Name: "open", Count: 2500}, chunks: chunks(0, numbered(0, 2500)...)},
			{StreamCopy: world.StreamCopy{Name: "large", Count: 4}, chunks: chunks(0, large...)},
			{StreamCopy: world.StreamCopy{Name: "st", Count: 6, Ends: []int64{2, 4}}, chunks: append(append(chunks(0, "a1", "b1"), chunks(3, "a2")...), chunks(5, "a3")...)},
		}, copyStreams(t, s, "wrun_1"))
	})
}

// A purged stream is copied as readers see it: empty, and ended.
func TestACopyOfAPurgedStreamHasNoChunks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		write(t, s, "st", "secret")
		require.NoError(t, s.PurgeRun(t.Context(), "wrun_1"))
		require.Equal(t, []copiedStream{{StreamCopy: world.StreamCopy{Name: "st", Ends: []int64{0}}}}, copyStreams(t, s, "wrun_1"))
	})
}

// What is written while a copy is read is not in it, and a purge meanwhile is an error of the run.
func TestACopyOfAStreamThatChanges(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix)
	write(t, s, "st", numbered(0, 1500)...)
	all, err := s.CopyStreams(t.Context(), []string{"wrun_1"})
	require.NoError(t, err)
	got := 0
	for part, err := range all[0] {
		require.NoError(t, err)
		switch {
		case part.Stream != nil:
			require.Equal(t, int64(1500), part.Stream.Count)
			write(t, s, "st", numbered(1500, 1600)...)
		default:
			got++
		}
	}
	require.Equal(t, 1500, got)

	var failed error
	for part, err := range all[0] {
		if part.Stream != nil {
			require.NoError(t, s.PurgeRun(t.Context(), "wrun_1"))
		}
		failed = err
	}
	var copyErr *world.CopyError
	require.ErrorAs(t, failed, &copyErr)
	require.Equal(t, "wrun_1", copyErr.RunID)
}

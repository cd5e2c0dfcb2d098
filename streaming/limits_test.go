package streaming_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/streaming"
)

// BR-49: a stream with more chunks than any usual limit, then no write for a year while its run is alive. Nothing is
// trimmed or expires, and each index keeps its chunk.
func TestBR49NothingIsTrimmed(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	clock := worldtest.StoppedClock(time.UnixMilli(1_800_000_000_000))
	living := &runs{ends: map[string]world.RunEnd{}}
	s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.Clock, c.Runs = clock, living })
	const count = 25_000
	for i := 0; i < count; i += 1000 {
		first, err := s.AppendChunks(t.Context(), world.Append{Name: itsStream, RunID: endedRun, Chunks: raw(numbered(i, i+1000)...)})
		require.NoError(t, err)
		require.Equal(t, int64(i), first)
	}
	clock.Add(365 * 24 * time.Hour)
	for _, key := range keys(t, r, "*"+itsStream+"*") {
		ttl, err := r.Client.TTL(t.Context(), key).Result()
		require.NoError(t, err)
		if prefix := r.Prefix + "stream_req:"; len(key) < len(prefix) || key[:len(prefix)] != prefix {
			require.Equal(t, time.Duration(-1), ttl, "%s expires", key)
		}
	}
	whole, tail := read(t, s, itsStream, 0), read(t, s, itsStream, 24_990)
	info, err := s.StreamInfo(t.Context(), itsStream, 0)
	require.NoError(t, err)
	require.Equal(t, world.StreamInfo{TailIndex: count - 1, Count: count}, info)
	require.Equal(t, int64(count), write(t, s, itsStream, fmt.Sprintf("chunk %d", count)))
	require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: itsStream, RunID: endedRun}))
	require.NoError(t, whole.end(t))
	require.NoError(t, tail.end(t))
	got := whole.got()
	require.Equal(t, count, int(got[count].Index))
	for i, chunk := range got {
		if chunk.Index != int64(i) || string(chunk.Data) != fmt.Sprintf("chunk %d", i) {
			require.Equal(t, world.Chunk{Index: int64(i), Data: fmt.Appendf(nil, "chunk %d", i)}, chunk)
		}
	}
	require.Equal(t, chunks(24_990, numbered(24_990, count+1)...), tail.got())
}

// A chunk or name that is too large is refused before anything of the call is stored, including the valid chunks of the
// call.
func TestLimitsAreCheckedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.MaxChunk, c.MaxChunks = 10, 3 })
	_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: raw("good", "much too long")})
	require.Equal(t, world.CodeTooLarge, world.ErrorCode(err))
	require.EqualError(t, err, "too_large: a chunk has at most 10 bytes, not 13")
	require.Empty(t, keys(t, r, "*"))
	_, err = s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: raw("1", "2", "3", "4")})
	require.Equal(t, world.CodeTooLarge, world.ErrorCode(err))
	require.EqualError(t, err, `too_large: the stream "st" has 0 chunks, and at most 3 go into a stream`)
	require.Empty(t, keys(t, r, "*"))

	require.Equal(t, int64(0), write(t, s, "st", "a", "b"))
	full := world.Append{Name: "st", RunID: "wrun_1", Chunks: raw("c", "d"), RequestID: "full"}
	_, err = s.AppendChunks(t.Context(), full)
	require.Equal(t, world.CodeTooLarge, world.ErrorCode(err))
	require.EqualError(t, err, `too_large: the stream "st" has 2 chunks, and at most 3 go into a stream`)
	last := world.Append{Name: "st", RunID: "wrun_1", Chunks: raw("c"), WriterID: "w"}
	for range 2 { // a repeat adds nothing, so it is not refused
		first, err := s.AppendChunks(t.Context(), last)
		require.NoError(t, err)
		require.Equal(t, int64(2), first)
	}
	require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	require.Equal(t, chunks(0, "a", "b", "c"), all(t, s, "st"))
}

// A write that is refused, because the stream is closed or full, or because the writer skipped a number, stores
// nothing: not even the stream's name in the list of the run.
func TestARefusedWriteLeavesNoNameInTheRunsList(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.MaxChunks = 3 })
		write(t, s, "full", "a", "b", "c")
		write(t, s, "closed", "a")
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "closed", RunID: "wrun_1"}))
		_, err := s.AppendChunks(t.Context(), world.Append{Name: "numbered", RunID: "wrun_1", Chunks: raw("a"), WriterID: "w"})
		require.NoError(t, err)
		before := keys(t, r, "*")
		for code, a := range map[world.Code]world.Append{
			world.CodeTooLarge:     {Name: "full"},
			world.CodeStreamClosed: {Name: "closed"},
			world.CodeConflict:     {Name: "numbered", WriterID: "w", Sequence: 5},
		} {
			a.RunID, a.Chunks = "wrun_2", raw("z")
			_, err := s.AppendChunks(t.Context(), a)
			require.Equal(t, code, world.ErrorCode(err), a.Name)
		}
		names, err := listNames(t.Context(), s, "wrun_2")
		require.NoError(t, err)
		require.Empty(t, names)
		require.ElementsMatch(t, before, keys(t, r, "*"))
		_, err = s.AppendChunks(t.Context(), world.Append{Name: "numbered", RunID: "wrun_2", Chunks: raw("b")})
		require.NoError(t, err)
		names, err = listNames(t.Context(), s, "wrun_2")
		require.NoError(t, err)
		require.Equal(t, []string{"numbered"}, names)
	})
}

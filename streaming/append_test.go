package streaming_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/streaming"
)

// A call whose answer was lost is sent again with the same id: it adds nothing and gets the same answer, also if the
// stream has grown or was closed since.
func TestTheSameRequestAgainAddsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		write(t, s, "st", "x")
		call := world.Append{Name: "st", RunID: "wrun_1", Chunks: raw("a", "b"), RequestID: strings.Repeat("id", 64)}
		for range 2 {
			first, err := s.AppendChunks(t.Context(), call)
			require.NoError(t, err)
			require.Equal(t, int64(1), first)
		}
		write(t, s, "st", "y")
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		first, err := s.AppendChunks(t.Context(), call)
		require.NoError(t, err)
		require.Equal(t, int64(1), first)
		require.Equal(t, chunks(0, "x", "a", "b", "y"), all(t, s, "st"))
	})
}

// Requests are remembered for ten minutes across bucket boundaries, and by a replica whose clock is behind; the records
// expire.
func TestRequestsAreRememberedTenMinutesAndThenGo(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	clock := worldtest.StoppedClock(time.Unix(1_800_000_599, 0)) // a second before a bucket's end
	s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.Clock = clock })
	call := world.Append{Name: "st", RunID: "wrun_1", Chunks: raw("a"), RequestID: "once"}
	for _, shift := range []time.Duration{0, 2 * time.Second, 10 * time.Minute, -11 * time.Minute} {
		clock.Set(time.Unix(1_800_000_599, 0).Add(shift))
		first, err := s.AppendChunks(t.Context(), call)
		require.NoError(t, err)
		require.Equal(t, int64(0), first, "after %s", shift)
	}
	buckets, err := r.Client.Keys(t.Context(), r.Prefix+"stream_req:*").Result()
	require.NoError(t, err)
	require.Len(t, buckets, 1)
	ttl, err := r.Client.TTL(t.Context(), buckets[0]).Result()
	require.NoError(t, err)
	require.Greater(t, ttl, 29*time.Minute)
	require.LessOrEqual(t, ttl, 30*time.Minute)
}

// A writer that numbers its chunks may repeat them and send overlapping calls; only new chunks are added, and no
// request record is stored for it.
func TestAWritersNumberingAddsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		put := func(writer string, sequence int64, want int64, data ...string) {
			t.Helper()
			first, err := s.AppendChunks(t.Context(), world.Append{
				Name: "st", RunID: "wrun_1", Chunks: raw(data...), WriterID: writer, Sequence: sequence,
			})
			require.NoError(t, err)
			require.Equal(t, want, first)
		}
		put("w", 0, 0, "a", "b")
		put("w", 0, 0, "a", "b") // repeat
		put("w", 1, 1, "b", "c") // overlap
		put("v", 7, 3, "V7")     // another writer, that begins elsewhere
		put("w", 2, 2, "c")      // repeat after it
		put("w", 3, 4, "d", "e")
		put("w", 4, 5, "e")
		put("w", 0, -1, "a")               // its place is no longer known
		put("w", 2, 6, "c", "d", "e", "f") // a long overlap: the place of what is new
		put("v", 8, 7, "V8")
		require.Equal(t, chunks(0, "a", "b", "c", "V7", "d", "e", "f", "V8"), all(t, s, "st"))

		_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", Chunks: raw("z"), WriterID: "w", Sequence: 7})
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		require.ErrorContains(t, err, `writer "w" continues with sequence 6, not 7`)
		_, err = s.AppendChunks(t.Context(), world.Append{Name: "st", Chunks: raw("z"), WriterID: "w", Sequence: -1})
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		require.Empty(t, keys(t, r, "stream_req:*"))

		// A repeated chunk does not count as a write to a closed stream, a new one does.
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		put("v", 8, 7, "V8")
		_, err = s.AppendChunks(t.Context(), world.Append{Name: "st", Chunks: raw("V9"), WriterID: "v", Sequence: 9})
		require.Equal(t, world.CodeStreamClosed, world.ErrorCode(err))
	})
}

// An append that is too large for one script call is stored by several, in order, and its repeat still adds nothing.
func TestALargeAppendIsSplitInOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		many := numbered(0, 2345)
		large := bytes.Repeat([]byte{0xff}, 3<<20)
		for _, call := range []world.Append{
			{Name: "many", RunID: "wrun_1", Chunks: raw(many...), RequestID: "r"},
			{Name: "numbered", RunID: "wrun_1", Chunks: raw(many...), WriterID: "w"},
			{Name: "large", RunID: "wrun_1", Chunks: [][]byte{large, large, large, {}, large}, RequestID: "r"},
		} {
			for range 2 {
				first, err := s.AppendChunks(t.Context(), call)
				require.NoError(t, err)
				require.Equal(t, int64(0), first)
			}
			got := all(t, s, call.Name)
			require.Len(t, got, len(call.Chunks))
			for i, c := range got {
				require.Equal(t, int64(i), c.Index)
				require.True(t, bytes.Equal(call.Chunks[i], c.Data), "chunk %d of %s", i, call.Name)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.MaxChunk = 10 })
		ctx := t.Context()
		_, err := s.AppendChunks(ctx, world.Append{Name: "st", Chunks: raw("12345678901")})
		require.Equal(t, world.CodeTooLarge, world.ErrorCode(err))
		require.ErrorContains(t, err, "at most 10 bytes, not 11")
		for _, name := range []string{"", strings.Repeat("x", 1025)} {
			_, err = s.AppendChunks(ctx, world.Append{Name: name, Chunks: raw("a")})
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
			require.Equal(t, world.CodeInvalid, world.ErrorCode(s.CloseStream(ctx, world.StreamClose{Name: name, RunID: "r"})))
			require.Equal(t, world.CodeInvalid, world.ErrorCode(s.ReadStream(ctx, name, 0, nil)))
			_, err = s.ListChunks(ctx, name, world.PageRequest{})
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
			_, err = s.StreamInfo(ctx, name, 0)
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		}
		// An append without chunks is not a write: the stream is not created.
		first, err := s.AppendChunks(ctx, world.Append{Name: "st", RunID: "wrun_1"})
		require.NoError(t, err)
		require.Equal(t, int64(0), first)
		require.Empty(t, keys(t, r, "*"))

		require.NoError(t, s.CloseStream(ctx, world.StreamClose{Name: "st", RunID: "wrun_1"}))
		for _, data := range [][][]byte{nil, raw("a")} {
			_, err = s.AppendChunks(ctx, world.Append{Name: "st", Chunks: data})
			require.Equal(t, world.CodeStreamClosed, world.ErrorCode(err))
		}

		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err = s.AppendChunks(ended, world.Append{Name: "st", Chunks: raw("a")})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A key of another type is a fault of ours or of the operator, and waiting does not help.
func TestAKeyOfAnotherTypeIsAnInternalError(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix)
	require.NoError(t, r.Client.Set(t.Context(), r.Prefix+"stream_meta:{st}", "text", 0).Err())
	_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", Chunks: raw("a")})
	require.Equal(t, world.CodeInternal, world.ErrorCode(err))
	require.Equal(t, world.CodeInternal, world.ErrorCode(s.ReadStream(t.Context(), "st", 0, nil)))
}

// all pages through a stream's stored chunks.
func all(t *testing.T, s *streaming.Service, name string) []world.Chunk {
	t.Helper()
	var list []world.Chunk
	request := world.PageRequest{Limit: 1000}
	for {
		p, err := s.ListChunks(t.Context(), name, request)
		require.NoError(t, err)
		list = append(list, p.Data...)
		if !p.HasMore {
			require.Empty(t, p.Cursor)
			return list
		}
		require.NotEqual(t, request.Cursor, p.Cursor, fmt.Sprintf("at %d", len(list)))
		request.Cursor = p.Cursor
	}
}

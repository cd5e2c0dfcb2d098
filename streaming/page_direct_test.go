package streaming_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

func large(n int) []byte { return bytes.Repeat([]byte{byte(n)}, 20_000+n) }

// Large chunks are read without the script, in pages with a limit of their own: history, then live, then the end, with
// small and empty ones in between.
func TestLargeChunksAreReadExactly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, neverAudit, func(c *streaming.Config) { c.PageBytes = 50_000 })
		var want []world.Chunk
		put := func(from, to int) {
			var list [][]byte
			for i := from; i < to; i++ {
				chunk := [][]byte{large(i), {}, []byte("small")}[i%3]
				list = append(list, chunk)
				want = append(want, world.Chunk{Index: int64(i), Data: chunk})
			}
			_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: list})
			require.NoError(t, err)
		}
		put(0, 10)
		reader := read(t, s, "st", 0)
		for i := 10; i < 40; i += 3 {
			reader.has(t, i)
			put(i, i+3)
		}
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		require.NoError(t, reader.end(t))
		require.Equal(t, want, reader.got())
	})
}

// Pages of large chunks are in lent memory. A page that two readers share must stay intact until the slower one is
// done, and the page of one reader until its sink returns.
func TestAPageOfLargeChunksIsWholeUntilItsSinksReturn(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix, neverAudit)
	put := func(i int) {
		_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: [][]byte{large(i)}})
		require.NoError(t, err)
	}
	put(0)
	quick := read(t, s, "st", 0)
	quick.has(t, 1)
	const rounds = 20
	begun, finish, broken := make(chan struct{}), make(chan struct{}), make(chan int, rounds)
	slow := make(chan error, 1)
	go func() {
		slow <- s.ReadStream(t.Context(), "st", 0, func(chunks []world.Chunk) error {
			begun <- struct{}{}
			<-finish
			for _, c := range chunks {
				if !bytes.Equal(c.Data, large(int(c.Index))) {
					broken <- int(c.Index)
				}
			}
			return nil
		})
	}()
	<-begun
	finish <- struct{}{}
	live(t, s, 2)
	for i := 1; i < rounds; i += 3 {
		put(i) // rings both
		<-begun
		put(i + 1)
		put(i + 2)
		quick.has(t, i+3)
		finish <- struct{}{}
		<-begun
		finish <- struct{}{}
	}
	require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	require.NoError(t, <-slow)
	require.Empty(t, broken)
	require.NoError(t, quick.end(t))
}

// A stream is purged between two pages of its large chunks: the read ends with what it has.
func TestLargeChunksArePurgedInTheMiddleOfARead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, neverAudit, func(c *streaming.Config) { c.PageBytes = 50_000 })
		for i := range 9 {
			_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: [][]byte{large(i)}})
			require.NoError(t, err)
		}
		got := 0
		err := s.ReadStream(t.Context(), "st", 0, func(chunks []world.Chunk) error {
			if got == 0 {
				require.NoError(t, s.PurgeRun(t.Context(), "wrun_1"))
			}
			got += len(chunks)
			return nil
		})
		require.NoError(t, err)
		require.Less(t, got, 9)
	})
}

// A record is missing within a stream of large chunks: the read fails there, and no chunk gets the index of another.
func TestAHoleAmongLargeChunksIsAnError(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix, neverAudit, func(c *streaming.Config) { c.PageBytes = 50_000 })
	for i := range 9 {
		_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: [][]byte{large(i)}})
		require.NoError(t, err)
	}
	require.NoError(t, r.Client.XDel(t.Context(), r.Prefix+"stream:{st}", "8-0").Err())
	reader := read(t, s, "st", 0)
	require.Equal(t, world.CodeInternal, world.ErrorCode(reader.end(t)))
	for i, chunk := range reader.got() {
		require.Less(t, i, 7)
		require.Equal(t, world.Chunk{Index: int64(i), Data: large(i)}, chunk)
	}
}

// The reply for a page of large chunks contains no chunks, as when a slot of a cluster has moved: the page is read
// again by the script, and nothing is left out.
func TestAnUnusableReplyIsReadAgain(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var spoilt atomic.Int64
	addr := startProxy(t, r.Addr, func(fromRedis bool, data []byte) bool {
		if at := bytes.Index(data, []byte("\r\n*4\r\n$1\r\nd\r\n$2000")); fromRedis && at >= 0 {
			data[at+len("\r\n*4\r\n$1\r\n")] = 'x'
			spoilt.Add(1)
		}
		return true
	})
	s, writer := start(t, redistest.Client(t, addr), r.Prefix, neverAudit, func(c *streaming.Config) { c.PageBytes = 50_000 }), start(t, r.Client, r.Prefix)
	var want []world.Chunk
	for i := range 9 {
		want = append(want, world.Chunk{Index: int64(i), Data: large(i)})
		_, err := writer.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: [][]byte{large(i)}})
		require.NoError(t, err)
	}
	require.NoError(t, writer.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	reader := read(t, s, "st", 0)
	require.NoError(t, reader.end(t))
	require.Equal(t, want, reader.got())
	require.Positive(t, spoilt.Load())
}

package streaming_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

func TestListChunksPages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		ctx := t.Context()
		empty, err := s.ListChunks(ctx, "never", world.PageRequest{})
		require.NoError(t, err)
		require.Equal(t, world.ChunkPage{}, empty)

		write(t, s, "st", numbered(0, 250)...)
		p, err := s.ListChunks(ctx, "st", world.PageRequest{})
		require.NoError(t, err)
		require.Equal(t, chunks(0, numbered(0, 100)...), p.Data)
		require.True(t, p.HasMore)
		require.False(t, p.Done)
		p, err = s.ListChunks(ctx, "st", world.PageRequest{Cursor: p.Cursor, Limit: 149})
		require.NoError(t, err)
		require.Equal(t, chunks(100, numbered(100, 249)...), p.Data)
		require.True(t, p.HasMore)

		// Done says that the end is recorded, on any page.
		require.NoError(t, s.CloseStream(ctx, world.StreamClose{Name: "st", RunID: "wrun_1"}))
		last, err := s.ListChunks(ctx, "st", world.PageRequest{Cursor: p.Cursor})
		require.NoError(t, err)
		require.Equal(t, world.ChunkPage{Page: world.Page[world.Chunk]{Data: chunks(249, "chunk 249")}, Done: true}, last)
		p, err = s.ListChunks(ctx, "st", world.PageRequest{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, chunks(0, "chunk 0"), p.Data)
		require.True(t, p.HasMore)
		require.True(t, p.Done)

		for _, bad := range []string{"x", "-1", "1.5", "99999999999999999999", "9007199254740993"} {
			p, err = s.ListChunks(ctx, "st", world.PageRequest{Cursor: bad, Limit: 1})
			require.NoError(t, err)
			require.Equal(t, chunks(0, "chunk 0"), p.Data, bad)
		}
	})
}

func TestAPageHasAtMostAThousandChunks(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix)
	write(t, s, "st", numbered(0, 1100)...)
	p, err := s.ListChunks(t.Context(), "st", world.PageRequest{Limit: 5000})
	require.NoError(t, err)
	require.Len(t, p.Data, 1000)
	require.True(t, p.HasMore)
}

func TestInfoAndListOfStreams(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		ctx := t.Context()
		info := func(name string) world.StreamInfo {
			i, err := s.StreamInfo(ctx, name, 0)
			require.NoError(t, err)
			return i
		}
		require.Equal(t, world.StreamInfo{TailIndex: -1}, info("never"))
		// Names are free text, and run ids need not be ids: none of them may reach the keys of another stream.
		odd := []string{"strm_1_user", "a{b}:c", "*", strings.Repeat("é", 512), " ", "../x"}
		for i, name := range odd {
			_, err := s.AppendChunks(ctx, world.Append{Name: name, RunID: "no {id}", Chunks: raw(name)})
			require.NoError(t, err)
			require.Equal(t, world.StreamInfo{Count: 1}, info(name))
			require.Equal(t, chunks(0, name), all(t, s, name), "stream %d", i)
		}
		require.NoError(t, s.CloseStream(ctx, world.StreamClose{Name: "closed only", RunID: "no {id}"}))
		require.NoError(t, s.CloseStream(ctx, world.StreamClose{Name: "closed only", RunID: "no {id}"}), "closing again is harmless")
		require.Equal(t, world.StreamInfo{TailIndex: -1, Done: true}, info("closed only"))
		require.NoError(t, read(t, s, "closed only", 0).end(t))

		names, err := listNames(ctx, s, "no {id}")
		require.NoError(t, err)
		require.ElementsMatch(t, append(odd, "closed only"), names)
		names, err = listNames(ctx, s, "wrun_hc_none")
		require.NoError(t, err)
		require.Empty(t, names)
	})
}

// A stream of chunks of different sizes is read in bounded pages, without losing anything.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.PageBytes = 1000 })
		data := numbered(0, 300)
		data[10], data[11], data[200] = strings.Repeat("x", 5000), strings.Repeat("y", 5000), strings.Repeat("z", 900)
		write(t, s, "st", data...)
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		var got []world.Chunk
		err := s.ReadStream(t.Context(), "st", 0, func(page []world.Chunk) error {
			size := 0
			for _, c := range page[:len(page)-1] {
				size += len(c.Data)
			}
			require.Less(t, size, 1000, "only the last chunk of a page may pass the bound")
			require.LessOrEqual(t, len(page), 256)
			got = append(got, kept(page)...)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, chunks(0, data...), got)
	})
}

// The stream was trimmed by hand in Redis: reads fail, and never return other indexes.
func TestMissingRecordsAreAnErrorAndNotAShift(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		write(t, s, "st", "a", "b", "c")
		require.NoError(t, r.Client.XDel(t.Context(), r.Prefix+"stream:{st}", "2-0").Err())
		require.Equal(t, world.CodeInternal, world.ErrorCode(s.ReadStream(t.Context(), "st", 0, nil)))
		_, err := s.ListChunks(t.Context(), "st", world.PageRequest{})
		require.ErrorContains(t, err, `chunks of the stream "st" are missing`)
	})
}

// A page of chunks has at most 8 MiB, to the byte; a larger chunk is alone on its page, and nothing is lost.
func TestChunkPagesKeepToTheirBytes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		var sizes []int
		for i := range 24 {
			size := []int{900_000, 10, 1_000_000}[i%3]
			if i == 9 {
				size = 9 << 20
			}
			sizes = append(sizes, size)
			write(t, s, "st", strings.Repeat(fmt.Sprint(i%10), size))
		}
		var cursor string
		index, pages := 0, 0
		for more := true; more; pages++ {
			p, err := s.ListChunks(t.Context(), "st", world.PageRequest{Cursor: cursor, Limit: 1000})
			require.NoError(t, err)
			total := 0
			for _, c := range p.Data {
				require.Equal(t, int64(index), c.Index)
				require.Empty(t, bytes.Trim(c.Data, fmt.Sprint(index%10)))
				require.Len(t, c.Data, sizes[index])
				total += len(c.Data)
				index++
			}
			require.True(t, total <= 8<<20 || len(p.Data) == 1, "%d bytes in %d chunks", total, len(p.Data))
			cursor, more = p.Cursor, p.HasMore
		}
		require.Equal(t, 24, index)
		require.Equal(t, 4, pages)
	})
}

// The names of a run's streams are listed in pages, too.
func TestStreamNamesComeInPages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		const count = 2_100
		want := make([]string, count)
		for i := range want {
			want[i] = fmt.Sprintf("%05d%s", i, strings.Repeat("n", 1000))
			require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: want[i], RunID: "wrun_1"}))
		}
		for _, limit := range []int{1, 700, 1000, 0} {
			var got []string
			p := world.PageRequest{Limit: limit}
			for more := true; more; {
				page, err := s.ListStreams(t.Context(), "wrun_1", p)
				require.NoError(t, err)
				require.NotEmpty(t, page.Data)
				got = append(got, page.Data...)
				if limit == 1 && len(got) == 3 {
					break
				}
				require.Equal(t, page.HasMore, page.Cursor != "")
				p.Cursor, more = page.Cursor, page.HasMore
			}
			require.Equal(t, want[:len(got)], got)
			require.Contains(t, []int{3, count}, len(got))
		}
		_, err := s.ListStreams(t.Context(), "wrun_1", world.PageRequest{Cursor: "x"})
		require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
	})
}

// listNames is the whole list of a run's streams.
func listNames(ctx context.Context, s *streaming.Service, runID string) ([]string, error) {
	names, err := s.ListStreams(ctx, runID, world.PageRequest{})
	return names.Data, err
}

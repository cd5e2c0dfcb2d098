package streaming_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A reader that starts in the middle gets the stored chunks, then the new ones, then the end.
func TestAReaderGetsHistoryThenLiveThenTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, neverAudit)
		require.Equal(t, int64(0), write(t, s, "st", "a", ""))
		reader := read(t, s, "st", 0)
		reader.has(t, 2)
		require.Equal(t, int64(2), write(t, s, "st", "c\x00\xff\r\n", "d"))
		reader.has(t, 4)
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		require.NoError(t, reader.end(t))
		require.Equal(t, chunks(0, "a", "", "c\x00\xff\r\n", "d"), reader.got())
	})
}

// A negative start counts back from the end at the time of opening and stops at 0; a start beyond the end waits while
// the stream is open, and ends immediately when it is closed.
func TestStartIndexes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		write(t, s, "st", "a", "b", "c")
		open := map[int64]*reading{}
		for _, from := range []int64{-2, -9, 1, 3} {
			open[from] = read(t, s, "st", from)
		}
		for _, from := range []int64{-2, -9, 1} {
			open[from].has(t, 2)
		}
		live(t, s, len(open))
		write(t, s, "st", "d")
		for from, want := range map[int64][]world.Chunk{
			-2: chunks(1, "b", "c", "d"), -9: chunks(0, "a", "b", "c", "d"), 1: chunks(1, "b", "c", "d"), 3: chunks(3, "d"),
		} {
			open[from].has(t, len(want))
			require.Equal(t, want, open[from].got(), "start %d of an open stream", from)
		}
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		for from, want := range map[int64][]world.Chunk{
			0: chunks(0, "a", "b", "c", "d"), 3: chunks(3, "d"), 4: nil, 5: nil, 1 << 62: nil,
			-1: chunks(3, "d"), -4: chunks(0, "a", "b", "c", "d"), -9: chunks(0, "a", "b", "c", "d"), -1 << 63: chunks(0, "a", "b", "c", "d"),
		} {
			reader := read(t, s, "st", from)
			require.NoError(t, reader.end(t))
			require.Equal(t, want, reader.got(), "start %d", from)
		}
	})
}

// A reader that starts before anything is written waits and gets the first chunk, wherever the writer is: also of a
// health check, whose run id is not an id of a run, and of a run that the service does not know. With a start beyond
// the first chunk it waits for its own.
func TestReadersThatComeBeforeTheWriter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := startWithRuns(t, r)
		s := start(t, r.Client, r.Prefix, neverAudit) // nothing but the doorbell
		for name, runID := range map[string]string{
			itsStream: endedRun, passedOn: "wrun_1", "__health_check__wrun_x": "hc not an id", "strm_x_user": "wrun_unknown",
		} {
			for i := range 10 {
				name := fmt.Sprint(name, i)
				readers := []*reading{read(t, s, name, 0), read(t, b.Service, name, 0)}
				beyond := read(t, s, name, 2)
				if i%2 == 0 {
					live(t, s, 2)
				}
				for _, chunk := range numbered(0, 3) {
					_, err := s.AppendChunks(t.Context(), world.Append{Name: name, RunID: runID, Chunks: raw(chunk)})
					require.NoError(t, err)
					if chunk == "chunk 0" {
						readers[0].has(t, 1)
						readers[1].has(t, 1)
					}
				}
				beyond.has(t, 1)
				require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: name, RunID: runID}))
				for _, reader := range readers {
					require.NoError(t, reader.end(t))
					require.Equal(t, chunks(0, numbered(0, 3)...), reader.got())
				}
				require.NoError(t, beyond.end(t))
				require.Equal(t, chunks(2, "chunk 2"), beyond.got())
			}
		}
	})
}

package streaming_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A reader attached in the middle gets what was there, then what comes, then the end.
func TestAReaderGetsHistoryThenLiveThenTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, neverAudit)
		require.Equal(t, int64(0), write(t, s, "st", "a", ""))
		reader := read(t, s, "st", 0)
		reader.has(t, 2)
		require.Equal(t, int64(2), write(t, s, "st", "c\x00\xff\r\n", "d"))
		reader.has(t, 4)
		require.NoError(t, s.CloseStream(t.Context(), "st", "wrun_1"))
		require.NoError(t, reader.end(t))
		require.Equal(t, chunks(0, "a", "", "c\x00\xff\r\n", "d"), reader.got())
	})
}

// A negative start counts back from the end at the moment of opening and stops at 0; a
// start beyond the end of a closed stream ends at once.
func TestStartIndexes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		write(t, s, "st", "a", "b", "c")
		require.NoError(t, s.CloseStream(t.Context(), "st", "wrun_1"))
		for from, want := range map[int64][]world.Chunk{
			0: chunks(0, "a", "b", "c"), 2: chunks(2, "c"), 3: nil, 4: nil, 1 << 62: nil,
			-1: chunks(2, "c"), -3: chunks(0, "a", "b", "c"), -9: chunks(0, "a", "b", "c"), -1 << 63: chunks(0, "a", "b", "c"),
		} {
			reader := read(t, s, "st", from)
			require.NoError(t, reader.end(t))
			require.Equal(t, want, reader.got(), "start %d", from)
		}
	})
}

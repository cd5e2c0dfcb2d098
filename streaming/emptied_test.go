package streaming_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// A run with zero retention has ended, and its streams are not purged yet, because the process died in between. No read
// returns a chunk of them, not even one that arrives late, and waiting readers get the end. Streams of other runs are
// read as usual.
func TestNothingIsReadBetweenTheEndOfARunAndItsPurge(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := startWithRuns(t, r)
		ctx := t.Context()
		put := func(name, runID string, chunks ...[]byte) {
			for range 2 { // a second time the first is known
				_, err := b.AppendChunks(ctx, world.Append{Name: name, RunID: runID, Chunks: chunks})
				require.NoError(t, err)
			}
		}
		secret := []byte("SECRET")
		large := [][]byte{large(1), large(2), large(3)}
		kept, other := endedRun, "wrun_2"
		put(itsStream, kept, secret)
		put("closed", kept, secret)
		require.NoError(t, b.CloseStream(ctx, world.StreamClose{Name: "closed", RunID: kept}))
		require.NoError(t, b.ExpectPurge(ctx, kept))
		put("large", kept, large...)
		put("another's", other, secret)
		b.runs.end(other, world.RunEnd{At: b.now()})
		var waiting []*reading
		for name, n := range map[string]int{itsStream: 2, "large": 6} {
			for _, s := range []*reading{read(t, b.Service, name, 0), read(t, b.other, name, 0)} {
				s.has(t, n) // it is not refused while the run lives
				waiting = append(waiting, s)
			}
		}
		page, err := b.ListChunks(ctx, "closed", world.PageRequest{})
		require.NoError(t, err)
		require.Len(t, page.Data, 2)

		b.runs.end(kept, world.RunEnd{At: b.now(), Emptied: true})
		put("large", kept, secret)
		put("late", kept, secret)
		for _, s := range waiting {
			require.NoError(t, s.end(t))
			for _, chunk := range s.got() {
				require.Less(t, chunk.Index, int64(6))
			}
		}
		for _, name := range []string{itsStream, "closed", "large", "late"} {
			requireEmptyAndEnded(t, b.Service, name)
			requireEmptyAndEnded(t, b.other, name)
		}
		page, err = b.ListChunks(ctx, "another's", world.PageRequest{})
		require.NoError(t, err)
		require.Len(t, page.Data, 2)

		for range 2 {
			require.NoError(t, b.PurgeRun(ctx, kept))
		}
		for _, name := range []string{itsStream, "closed", "large", "late"} {
			requireEmptyAndEnded(t, b.other, name)
			require.Empty(t, keys(t, r, "stream:{"+name+"}"))
			require.False(t, r.Client.HExists(ctx, r.Prefix+"stream_meta:{"+name+"}", "z").Val())
		}
		require.Empty(t, keys(t, r, "streams:empties:*"))
	})
}

// The run ends between the reading of chunks and their delivery, or its state cannot be read at that time.
func TestAReadWhoseRunCannotBeAskedForShowsNothing(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	away := &runsAway{}
	s := start(t, r.Client, r.Prefix, neverAudit, func(c *streaming.Config) { c.Runs = away })
	require.NoError(t, s.ExpectPurge(t.Context(), "wrun_1"))
	write(t, s, "st", "SECRET")
	require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	_, err := s.ListChunks(t.Context(), "st", world.PageRequest{})
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(s.ReadStream(t.Context(), "st", 0, func([]world.Chunk) error {
		t.Error("a chunk")
		return nil
	})))
}

type runsAway struct{}

func (*runsAway) RunEnds(context.Context, []string) ([]world.RunEnd, error) {
	return nil, world.Errorf(world.CodeUnavailable, "Redis is away")
}

package streaming_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// requireEmptyAndEnded requires what every reader of a purged stream must see, as in the SDK's local World.
func requireEmptyAndEnded(t *testing.T, s *streaming.Service, name string) {
	t.Helper()
	info, err := s.StreamInfo(t.Context(), name, 0)
	require.NoError(t, err)
	require.Equal(t, world.StreamInfo{TailIndex: -1, Done: true}, info, name)
	page, err := s.ListChunks(t.Context(), name, world.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, world.ChunkPage{Done: true}, page, name)
	for _, from := range []int64{0, 7, -3} {
		reading := read(t, s, name, from)
		require.NoError(t, reading.end(t), "%s from %d", name, from)
		require.Empty(t, reading.got())
	}
}

// A run with zero retention has ended: its streams, open or closed, lose every chunk and read as empty and ended; their
// names stay. Active readers end with what they have. Late chunks are not stored, and a call whose answer was lost gets
// the first answer.
func TestPurgedStreamsAreEmptyAndEnded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s, other := start(t, r.Client, r.Prefix, neverAudit), start(t, r.Client, r.Prefix, neverAudit)
		ctx := t.Context()
		requested := world.Append{Name: "open", RunID: "wrun_1", Chunks: raw("SECRET a", "SECRET b"), RequestID: "r"}
		numberedCall := world.Append{Name: "numbered", RunID: "wrun_1", Chunks: raw("SECRET c"), WriterID: "w"}
		for _, call := range []world.Append{requested, numberedCall} {
			_, err := s.AppendChunks(ctx, call)
			require.NoError(t, err)
		}
		write(t, s, "closed", "SECRET d")
		require.NoError(t, s.CloseStream(ctx, world.StreamClose{Name: "closed", RunID: "wrun_1"}))
		_, err := s.AppendChunks(ctx, world.Append{Name: "another's", RunID: "wrun_2", Chunks: raw("kept")})
		require.NoError(t, err)
		readers := []*reading{read(t, s, "open", 0), read(t, other, "open", 1), read(t, other, "open", 50)}
		readers[0].has(t, 2)
		readers[1].has(t, 1)
		live(t, s, 1)
		live(t, other, 2)

		for range 2 {
			require.NoError(t, other.PurgeRun(ctx, "wrun_1"))
		}
		for i, want := range [][]world.Chunk{chunks(0, "SECRET a", "SECRET b"), chunks(1, "SECRET b"), nil} {
			require.NoError(t, readers[i].end(t))
			require.Equal(t, want, readers[i].got())
		}
		for _, call := range []world.Append{requested, numberedCall} {
			first, err := s.AppendChunks(ctx, call)
			require.NoError(t, err)
			require.Zero(t, first)
		}
		for _, name := range []string{"open", "numbered", "closed", "new"} { // s has listed all but "new"
			for _, on := range []*streaming.Service{s, other} {
				_, err := on.AppendChunks(ctx, world.Append{Name: name, RunID: "wrun_1", Chunks: raw("SECRET late")})
				require.Equal(t, world.CodeStreamClosed, world.ErrorCode(err), name)
				require.NoError(t, on.CloseStream(ctx, world.StreamClose{Name: name, RunID: "wrun_1"}))
			}
		}
		require.NoError(t, s.CloseStream(ctx, world.StreamClose{Name: "closed late", RunID: "wrun_1"}))
		names, err := listNames(ctx, s, "wrun_1")
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"open", "numbered", "closed", "new", "closed late"}, names)
		for _, name := range names {
			requireEmptyAndEnded(t, s, name)
		}
		require.Len(t, keys(t, r, "stream:*"), 1)
		require.Equal(t, chunks(0, "kept"), all(t, s, "another's"))
		require.NoError(t, s.PurgeRun(ctx, "a run without streams"))
	})
}

// Writers on two replicas continue, also with new streams, while their run is purged: afterwards none of its streams
// has a chunk.
func TestNothingSlipsThroughAPurge(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		replicas := []*streaming.Service{start(t, r.Client, r.Prefix, neverAudit), start(t, r.Client, r.Prefix, neverAudit)}
		ctx := t.Context()
		for round := range 2 {
			runID := fmt.Sprintf("wrun_%d", round)
			var written atomic.Int64
			begun := make(chan struct{})
			writers, _ := errgroup.WithContext(ctx)
			for w := range 4 {
				writers.Go(func() error {
					for n := range 100 {
						a := world.Append{Name: fmt.Sprint(runID, " ", w, " ", n/2), RunID: runID, Chunks: raw("SECRET")}
						if _, err := replicas[n%2].AppendChunks(ctx, a); err != nil && world.ErrorCode(err) != world.CodeStreamClosed {
							return err
						}
						if written.Add(1) == 70 {
							close(begun)
						}
					}
					return nil
				})
			}
			<-begun
			require.NoError(t, replicas[round%2].PurgeRun(ctx, runID))
			require.NoError(t, writers.Wait())
			names, err := listNames(ctx, replicas[0], runID)
			require.NoError(t, err)
			require.Len(t, names, 4*50)
			for _, name := range names {
				info, err := replicas[0].StreamInfo(ctx, name, 0)
				require.NoError(t, err)
				require.Equal(t, world.StreamInfo{TailIndex: -1, Done: true}, info, name)
			}
			require.Empty(t, keys(t, r, "stream:*"))
		}
	})
}

// crash fails every command after the first n.
type crash struct{ left atomic.Int64 }

func (c *crash) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *crash) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c.left.Add(-1) < 0 {
			cmd.SetErr(net.ErrClosed)
			return net.ErrClosed
		}
		return next(ctx, cmd)
	}
}

func (c *crash) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A purge that is interrupted at any point is finished by the next one. It takes several pages.
func TestAPurgeThatBrokeOffIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix)
	client := redistest.Client(t, r.Addr)
	hook := &crash{}
	hook.left.Store(1 << 30)
	client.AddHook(hook)
	flaky := start(t, client, r.Prefix, neverAudit)
	for _, after := range []int64{0, 1, 2, 60, 110} {
		runID := fmt.Sprintf("wrun_%d", after)
		for i := range 130 {
			_, err := s.AppendChunks(t.Context(), world.Append{Name: fmt.Sprint(runID, " ", i), RunID: runID, Chunks: raw("SECRET")})
			require.NoError(t, err)
		}
		hook.left.Store(after)
		err := flaky.PurgeRun(t.Context(), runID)
		hook.left.Store(1 << 30)
		require.ErrorIs(t, err, net.ErrClosed)
		require.NotEmpty(t, keys(t, r, "stream:*"), "after %d commands", after)
		require.NoError(t, flaky.PurgeRun(t.Context(), runID))
		require.Empty(t, keys(t, r, "stream:*"), "after %d commands", after)
	}
}

// The streams of a removed run accept no more from any replica, and what says so expires within an hour.
func TestTheStreamsOfARemovedRunExpire(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s, other := start(t, r.Client, r.Prefix, neverAudit), start(t, r.Client, r.Prefix, neverAudit)
		ctx := t.Context()
		_, err := s.AppendChunks(ctx, world.Append{Name: "open", RunID: "wrun_1", Chunks: raw("a"), WriterID: "w"})
		require.NoError(t, err)
		reader := read(t, s, "open", 0)
		reader.has(t, 1)
		live(t, s, 1)
		for range 2 {
			require.NoError(t, other.RemoveRuns(ctx, []string{"wrun_1"}))
		}
		require.NoError(t, reader.end(t))
		for _, name := range []string{"open", "new"} {
			_, err := s.AppendChunks(ctx, world.Append{Name: name, RunID: "wrun_1", Chunks: raw("late")})
			require.Equal(t, world.CodeStreamClosed, world.ErrorCode(err), name)
			requireEmptyAndEnded(t, s, name)
		}
		left := keys(t, r, "stream*")
		require.NotEmpty(t, left)
		for _, key := range left {
			ttl := r.Client.TTL(ctx, key).Val()
			require.True(t, ttl > 0 && ttl <= time.Hour, "%s expires in %s", key, ttl)
		}
	})
}

package streaming_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// Two replicas; several writers, some of whose calls are sent twice; readers that start at any time from any index:
// each gets exactly the stored chunks from its start on.
func TestReadersGetExactlyWhatWasWritten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		replicas := []*streaming.Service{start(t, r.Client, r.Prefix, neverAudit), start(t, r.Client, r.Prefix, neverAudit)}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)

		type result struct {
			start int64
			got   []world.Chunk
		}
		var mu sync.Mutex
		var results []result
		limit, cancel := context.WithTimeout(t.Context(), longWait)
		defer cancel()
		readers, ctx := errgroup.WithContext(limit)
		for i := range 24 {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			readers.Go(func() error {
				s, from := replicas[random.IntN(2)], random.Int64N(300)
				for range random.IntN(40) { // come later than others
					if _, err := s.StreamInfo(ctx, "st", 0); err != nil {
						return err
					}
				}
				one := result{start: from}
				err := s.ReadStream(ctx, "st", from, func(chunks []world.Chunk) error {
					one.got = append(one.got, kept(chunks)...)
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				results = append(results, one)
				return err
			})
		}
		writers, writeCtx := errgroup.WithContext(t.Context())
		for w := range 3 {
			random := rand.New(rand.NewPCG(seed, uint64(100+w)))
			writers.Go(func() error {
				for call := range 60 {
					a := world.Append{Name: "st", RunID: "wrun_1", RequestID: fmt.Sprint(w, "/", call)}
					for range 1 + random.IntN(6) {
						a.Chunks = append(a.Chunks, fmt.Appendf(nil, "%d/%d/%d", w, call, random.Uint64()))
					}
					for range 1 + random.IntN(2) {
						if _, err := replicas[random.IntN(2)].AppendChunks(writeCtx, a); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		require.NoError(t, replicas[0].CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		require.NoError(t, readers.Wait())

		stored := all(t, replicas[1], "st")
		require.GreaterOrEqual(t, len(stored), 180)
		for i, c := range stored {
			require.Equal(t, int64(i), c.Index)
		}
		for _, one := range results {
			want := stored[min(one.start, int64(len(stored))):]
			require.Len(t, one.got, len(want), "start %d", one.start)
			for i := range want {
				require.Equal(t, want[i], one.got[i])
			}
		}
	})
}

// An append that was accepted is stored before the end; an append that was refused is not stored.
func TestCloseRacingAppends(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, neverAudit)
		reader := read(t, s, "st", 0)
		var mu sync.Mutex
		accepted := map[string]bool{}
		refused := 0
		var writers errgroup.Group
		for w := range 4 {
			writers.Go(func() error {
				for i := 0; ; i++ {
					text := fmt.Sprintf("%d/%d", w, i)
					_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", Chunks: raw(text)})
					mu.Lock()
					if err != nil {
						refused++
						mu.Unlock()
						if world.ErrorCode(err) == world.CodeStreamClosed {
							return nil
						}
						return err
					}
					accepted[text] = true
					mu.Unlock()
				}
			})
		}
		reader.has(t, 50)
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		require.NoError(t, writers.Wait())
		require.NoError(t, reader.end(t))
		require.Equal(t, 4, refused)
		got := reader.got()
		require.Len(t, got, len(accepted))
		for _, c := range got {
			require.True(t, accepted[string(c.Data)], "%s", c.Data)
		}
	})
}

// Readers that come and go leave nothing behind: no subscription, no goroutine (goleak).
func TestAbortedReadsLeaveNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		subscribed := func() int {
			return len(r.Client.PubSubChannels(context.Background(), r.Prefix+"*").Val())
		}
		var aborts []context.CancelFunc
		var ended sync.WaitGroup
		t.Cleanup(func() {
			for _, abort := range aborts {
				abort()
			}
			ended.Wait()
		})
		for i := range 300 {
			ctx, abort := context.WithCancel(context.Background())
			aborts = append(aborts, abort)
			ended.Go(func() {
				err := s.ReadStream(ctx, fmt.Sprint("st", i/10), 0, func([]world.Chunk) error { return nil })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("read %d ended with %v", i, err)
				}
			})
			if i%3 == 0 { // some leave at once, while the subscription is under way
				abort()
			}
		}
		live(t, s, 200)
		require.Eventually(t, func() bool { return subscribed() == 30 }, longWait, time.Millisecond)
		require.Equal(t, streaming.Stats{Readers: 200, Subscriptions: 30}, s.Stats())
		for _, abort := range aborts {
			abort()
		}
		ended.Wait()
		require.Equal(t, streaming.Stats{}, s.Stats())
		require.Eventually(t, func() bool { return subscribed() == 0 }, longWait, time.Millisecond)
	})
}

// A reader whose sink does not return delays neither writers nor other readers, and gets the rest in order when it
// continues.
func TestASlowReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix, neverAudit)
	write(t, s, "st", "chunk 0")
	release, stuck := make(chan struct{}), make(chan struct{})
	slow := make(chan []world.Chunk, 1)
	var once sync.Once
	var slowErr error
	go func() {
		var got []world.Chunk
		slowErr = s.ReadStream(context.Background(), "st", 0, func(chunks []world.Chunk) error {
			got = append(got, kept(chunks)...)
			once.Do(func() { close(stuck) })
			<-release
			return nil
		})
		slow <- got
	}()
	<-stuck
	quick := read(t, s, "st", 0)
	for i := 1; i < 600; i += 50 {
		write(t, s, "st", numbered(i, i+50)...)
		quick.has(t, i+50)
	}
	require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	require.NoError(t, quick.end(t))
	close(release)
	got := <-slow
	require.NoError(t, slowErr)
	require.Equal(t, all(t, s, "st"), got)
	require.Equal(t, quick.got(), got)
}

// A sink that fails ends its read with its error.
func TestAFailingSinkEndsTheRead(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := start(t, r.Client, r.Prefix)
	write(t, s, "st", "a")
	gone := fmt.Errorf("the client went away")
	require.ErrorIs(t, s.ReadStream(t.Context(), "st", 0, func([]world.Chunk) error { return gone }), gone)
	require.Equal(t, streaming.Stats{}, s.Stats())
}

// When the service stops, its reads end with an error that differs from the end of the stream.
func TestStoppingEndsReadsWithUnavailable(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s, err := streaming.New(t.Context(), r.Client, streaming.Config{Prefix: r.Prefix})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	write(t, s, "st", "a")
	reader := read(t, s, "st", 0)
	reader.has(t, 1)
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(reader.end(t)))
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(s.ReadStream(t.Context(), "st", 0, nil)))
	require.ErrorContains(t, s.Run(t.Context()), "twice")
}

package streaming_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// steady writes numbered chunks without end, and repeats each until it is stored.
type steady struct {
	mu     sync.Mutex // held while a chunk is written
	stored int
	at     []time.Time // when each was stored
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// steadyChunk is large enough to be read without the script.
func steadyChunk(n int) []byte { return fmt.Appendf(nil, "%d %5000d", n, n) }

func writeSteadily(t *testing.T, s *streaming.Service) *steady {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &steady{stop: stop}
	w.done.Go(func() {
		for ctx.Err() == nil {
			if err := w.one(ctx, s); err != nil && world.ErrorCode(err) != world.CodeUnavailable && ctx.Err() == nil {
				t.Errorf("a write during a failover: %v", err)
				return
			}
			<-time.After(2 * time.Millisecond) // what a client does before it tries again
		}
	})
	t.Cleanup(func() { stop(); w.done.Wait() })
	return w
}

func (w *steady) one(ctx context.Context, s *streaming.Service) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := world.Append{Name: "st", RunID: "wrun_1", Chunks: [][]byte{steadyChunk(w.stored)}, RequestID: fmt.Sprint(w.stored)}
	_, err := s.AppendChunks(ctx, a)
	if err == nil {
		w.stored++
		w.at = append(w.at, time.Now())
	}
	return err
}

// written waits until n more chunks are stored.
func (w *steady) written(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.stored
	}
	want := count() + more
	require.Eventually(t, func() bool { return count() >= want }, longWait, 5*time.Millisecond)
}

func (w *steady) end() int {
	w.stop()
	w.done.Wait()
	return w.stored
}

// replicaOn is a replica of the service with its own connections.
func replicaOn(t *testing.T, r *redistest.Redis) *streaming.Service {
	t.Helper()
	conn, err := redisconn.Open(t.Context(), r.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return start(t, conn.Client, r.Prefix)
}

// While one replica writes and another one reads, the masters fail over to their replicas. Every chunk that was
// acknowledged to a writer reaches the reader, once and in order.
func TestFailoverLosesNothing(t *testing.T) {
	t.Parallel()
	const before, after = 50, 100
	streamThrough := func(t *testing.T, r *redistest.Redis, failOver func(*steady)) {
		writer, reader := replicaOn(t, r), replicaOn(t, r)
		reading, beyond := read(t, reader, "st", 0), read(t, reader, "st", 1<<40)
		live(t, reader, 2)
		w := writeSteadily(t, writer)
		w.written(t, before)
		failOver(w)
		w.written(t, after)
		reading.has(t, before+after)
		count := w.end()
		require.Eventually(t, func() bool {
			return writer.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}) == nil
		}, longWait, 10*time.Millisecond)
		require.NoError(t, reading.end(t))
		got := reading.got()
		require.Len(t, got, count)
		for i, chunk := range got {
			require.Equal(t, world.Chunk{Index: int64(i), Data: steadyChunk(i)}, chunk)
		}
		require.NoError(t, beyond.end(t))
		const most = longWait / 2 // two seconds are promised; the rest is for a machine that is busy with other tests
		worst := time.Duration(0)
		for i, at := range reading.at {
			worst = max(worst, at.Sub(w.at[i]))
		}
		t.Logf("%d chunks, the latest %s after it was stored", count, worst)
		require.Less(t, worst, most)
	}

	t.Run("cluster, by its operator", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartReplicatedCluster(t)
		streamThrough(t, c.Redis, func(*steady) { require.NoError(t, c.FailOver()) })
	})
	// Writes that a master has not replicated are lost with it, so the writer waits until they are.
	t.Run("sentinel, the master is killed", func(t *testing.T) {
		t.Parallel()
		r, master := redistest.StartSentinel(t)
		streamThrough(t, r, func(w *steady) {
			w.mu.Lock()
			defer w.mu.Unlock()
			own := redistest.Client(t, master.Addr).Conn() // WAIT is about what its own connection wrote
			require.NoError(t, own.Set(t.Context(), "last", "write", 0).Err())
			require.Equal(t, int64(1), own.Wait(t.Context(), 1, longWait).Val())
			require.NoError(t, own.Close())
			require.NoError(t, master.Kill())
		})
	})
}

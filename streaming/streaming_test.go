package streaming_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find, redistest.OnCluster) }

const longWait = 30 * time.Second

// start runs a service for the test, with a configuration that the test may change first.
func start(t *testing.T, client redis.UniversalClient, prefix string, change ...func(*streaming.Config)) *streaming.Service {
	t.Helper()
	config := streaming.Config{Prefix: prefix, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, f := range change {
		f(&config)
	}
	s, err := streaming.New(t.Context(), client, config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return s
}

// neverAudit leaves only doorbells and resubscriptions to wake a reader.
func neverAudit(c *streaming.Config) { c.AuditInterval = time.Hour }

// reading is a live read in its own goroutine.
type reading struct {
	mu     sync.Mutex
	chunks []world.Chunk
	at     []time.Time // when each came
	ended  chan error
	cancel context.CancelFunc
}

func read(t *testing.T, s *streaming.Service, name string, from int64) *reading {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &reading{ended: make(chan error, 1), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended <- s.ReadStream(ctx, name, from, func(chunks []world.Chunk) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			for range chunks {
				r.at = append(r.at, time.Now())
			}
			r.chunks = append(r.chunks, kept(chunks)...)
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

// kept are copies of the chunks: a sink must not keep those that it gets.
func kept(chunks []world.Chunk) []world.Chunk {
	list := slices.Clone(chunks)
	for i := range list {
		list[i].Data = bytes.Clone(list[i].Data)
	}
	return list
}

func (r *reading) got() []world.Chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]world.Chunk(nil), r.chunks...)
}

// has waits until there are n chunks.
func (r *reading) has(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.got()) >= n }, longWait, time.Millisecond)
}

// end waits for the read to return.
func (r *reading) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(longWait):
		require.Fail(t, "the read does not end")
		return nil
	}
}

// live waits until n reads of the service wait for new chunks.
func live(t *testing.T, s *streaming.Service, readers int) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Stats().Readers == readers }, longWait, time.Millisecond)
}

func write(t *testing.T, s *streaming.Service, name string, chunks ...string) int64 {
	t.Helper()
	first, err := s.AppendChunks(t.Context(), world.Append{Name: name, RunID: "wrun_1", Chunks: raw(chunks...)})
	require.NoError(t, err)
	return first
}

func raw(chunks ...string) [][]byte {
	list := make([][]byte, len(chunks))
	for i, c := range chunks {
		list[i] = []byte(c)
	}
	return list
}

// chunks returns chunks that are numbered from an index on.
func chunks(from int64, data ...string) []world.Chunk {
	list := make([]world.Chunk, len(data))
	for i, d := range data {
		list[i] = world.Chunk{Index: from + int64(i), Data: []byte(d)}
	}
	return list
}

func numbered(from, to int) []string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("chunk %d", i))
	}
	return list
}

// keys returns the keys of the test that match a pattern.
func keys(t testing.TB, r *redistest.Redis, pattern string) []string {
	t.Helper()
	all, err := r.Keys(t.Context(), r.Prefix+pattern)
	require.NoError(t, err)
	return all
}

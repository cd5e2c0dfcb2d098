package streaming_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

func benchService(b *testing.B, r *redistest.Redis) *streaming.Service {
	b.Helper()
	s, err := streaming.New(b.Context(), r.Client, streaming.Config{Prefix: r.Prefix})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		require.NoError(b, <-ended)
	})
	return s
}

// Chunks per second on one stream, by the number of chunks in a call.
func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := benchService(b, redistest.New(b))
			chunk := bytes.Repeat([]byte("x"), 100)
			data := slices.Repeat([][]byte{chunk}, batch)
			for b.Loop() {
				_, err := s.AppendChunks(b.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: data})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
}

// Time from a write on one replica until a reader of another one has the chunk, with a number of other readers of the
// stream.
func BenchmarkLatency(b *testing.B) {
	for _, readers := range []int{1, 100, 2000} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			r := redistest.New(b)
			writer, other := benchService(b, r), benchService(b, r)
			arrived := make(chan time.Time, 1)
			for i := range readers {
				go func() {
					_ = other.ReadStream(b.Context(), "st", 0, func([]world.Chunk) error {
						if i == 0 {
							arrived <- time.Now()
						}
						return nil
					})
				}()
			}
			require.Eventually(b, func() bool { return other.Stats().Readers == readers }, longWait, time.Millisecond)
			var delays []time.Duration
			for b.Loop() {
				begin := time.Now()
				_, err := writer.AppendChunks(b.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: raw("x")})
				require.NoError(b, err)
				delays = append(delays, (<-arrived).Sub(begin))
			}
			slices.Sort(delays)
			b.ReportMetric(float64(delays[len(delays)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds()), "p99-µs")
			require.NoError(b, writer.CloseStream(b.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		})
	}
}

// Chunks per second that one reader gets from history.
func BenchmarkReadHistory(b *testing.B) {
	s := benchService(b, redistest.New(b))
	data := slices.Repeat([][]byte{bytes.Repeat([]byte("x"), 100)}, 1000)
	for range 20 {
		_, err := s.AppendChunks(b.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: data})
		require.NoError(b, err)
	}
	require.NoError(b, s.CloseStream(b.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	for b.Loop() {
		require.NoError(b, s.ReadStream(b.Context(), "st", 0, func([]world.Chunk) error { return nil }))
	}
	b.ReportMetric(float64(b.N*20_000)/b.Elapsed().Seconds(), "chunks/s")
}

// Bytes in Redis for a chunk of 100 bytes.
func BenchmarkMemory(b *testing.B) {
	r := redistest.New(b)
	s := benchService(b, r)
	data := bytes.Repeat([]byte("x"), 100)
	n := 0
	for b.Loop() {
		_, err := s.AppendChunks(b.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: [][]byte{data}})
		require.NoError(b, err)
		n++
	}
	for metric, pattern := range map[string]string{"stream-B/chunk": "stream:*", "request-B/append": "stream_req:*"} {
		total := int64(0)
		for _, key := range r.Client.Keys(b.Context(), r.Prefix+pattern).Val() {
			total += r.Client.MemoryUsage(b.Context(), key, 0).Val()
		}
		b.ReportMetric(float64(total)/float64(n), metric)
	}
}

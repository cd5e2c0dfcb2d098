package streaming_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// proxy stands between a service and Redis and swallows doorbells, while everything else
// passes: the connection looks alive, as it does with a node that was failed over.
type proxy struct {
	addr      string
	deaf      atomic.Bool // swallow
	swallowed atomic.Int64
	listening atomic.Int64 // connections that were ever used to subscribe
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{addr: l.Addr().String()}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { p.serve(client, target) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		conns.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn, target string) {
	server, err := net.Dial("tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	buffer := make([]byte, 1<<20)
	counted := false
	for {
		n, err := server.Read(buffer)
		if !counted && bytes.Contains(buffer[:n], []byte("\r\nsubscribe\r\n")) {
			counted = true
			p.listening.Add(1)
		}
		if p.deaf.Load() && bytes.HasPrefix(buffer[:n], []byte(">3\r\n$7\r\nmessage\r\n")) {
			p.swallowed.Add(1)
			continue
		}
		if n > 0 {
			if _, writeErr := client.Write(buffer[:n]); writeErr != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_ = client.Close()
	_ = server.Close()
	both.Wait()
}

// Not one doorbell arrives: the audit delivers, and in the end the dead connection is
// replaced by one that hears again.
func TestLostDoorbellsOnlyDelayAndADeafConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	p := startProxy(t, r.Addr)
	p.deaf.Store(true)
	s := start(t, redistest.Client(t, p.addr), r.Prefix, func(c *streaming.Config) { c.AuditInterval = 20 * time.Millisecond })
	writer := start(t, r.Client, r.Prefix)

	reader := read(t, s, "st", 0)
	beyond := read(t, s, "st", 1000) // waits for nothing but the end
	live(t, s, 2)
	written := 0
	for ; p.listening.Load() < 2 && written < 500; written++ {
		write(t, writer, "st", numbered(written, written+1)...)
		reader.has(t, written+1)
	}
	require.GreaterOrEqual(t, p.listening.Load(), int64(2), "the connection was not replaced")
	require.Positive(t, p.swallowed.Load())
	require.NoError(t, writer.CloseStream(t.Context(), "st", "wrun_1"))
	require.NoError(t, reader.end(t))
	require.Equal(t, chunks(0, numbered(0, written)...), reader.got())
	require.NoError(t, beyond.end(t))
	require.Empty(t, beyond.got())
}

// The subscription connection is killed again and again: a new one takes over, and what
// was written in between is not lost. Nothing but resubscribing may wake the reader.
func TestKilledSubscriptionsLoseNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Client(t, server.Addr)
	s := start(t, client, "k:", neverAudit)
	reader := read(t, s, "st", 0)
	kill := func() int64 {
		return client.ClientKillByFilter(context.Background(), "TYPE", "pubsub").Val()
	}
	for i := range 10 {
		require.Eventually(t, func() bool { return kill() == 1 }, longWait, time.Millisecond)
		write(t, s, "st", numbered(3*i, 3*i+3)...)
		reader.has(t, 3*i+3)
	}
	require.Eventually(t, func() bool { return kill() == 1 }, longWait, time.Millisecond)
	require.NoError(t, s.CloseStream(t.Context(), "st", "wrun_1"))
	require.NoError(t, reader.end(t))
	require.Equal(t, chunks(0, numbered(0, 30)...), reader.got())
}

// Redis goes away and comes back with its data: readers wait through it, writers and new
// readers are told to try again.
func TestReadersSurviveARestartOfRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s := start(t, client, "r:", func(c *streaming.Config) { c.AuditInterval = 50 * time.Millisecond })
	write(t, s, "st", numbered(0, 3)...)

	idle := read(t, s, "st", 0)
	idle.has(t, 3)
	gate, midway := make(chan struct{}), make(chan struct{})
	var once sync.Once
	busy := make(chan int, 1)
	go func() { // in the middle of a page while Redis goes
		n := 0
		_ = s.ReadStream(context.Background(), "st", 0, func(chunks []world.Chunk) error {
			n += len(chunks)
			once.Do(func() { close(midway); <-gate })
			return nil
		})
		busy <- n
	}()
	<-midway
	require.NoError(t, server.Stop())
	close(gate)
	_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", Chunks: raw("lost")})
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(s.ReadStream(t.Context(), "other", 0, nil)))
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(s.CloseStream(t.Context(), "other", "wrun_1")))
	_, err = s.ListStreams(t.Context(), "wrun_1")
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))

	require.NoError(t, server.Restart())
	require.Equal(t, int64(3), write(t, s, "st", numbered(3, 6)...))
	idle.has(t, 6)
	require.NoError(t, s.CloseStream(t.Context(), "st", "wrun_1"))
	require.NoError(t, idle.end(t))
	require.Equal(t, chunks(0, numbered(0, 6)...), idle.got())
	require.Equal(t, 6, <-busy)
}

// However many read, a process has one subscription connection.
func TestManyReadersShareOneConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Client(t, server.Addr)
	s := start(t, client, "m:", neverAudit)
	const streams, each = 40, 50
	var readers []*reading
	for i := range streams {
		for range each {
			readers = append(readers, read(t, s, numbered(i, i+1)[0], 0))
		}
	}
	live(t, s, streams*each)
	for i := range streams {
		write(t, s, numbered(i, i+1)[0], "a", "b")
		require.NoError(t, s.CloseStream(t.Context(), numbered(i, i+1)[0], "wrun_1"))
	}
	list := client.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Val()
	require.Equal(t, 1, bytes.Count([]byte(list.(string)), []byte(" addr=")))
	for _, r := range readers {
		require.NoError(t, r.end(t))
		require.Equal(t, chunks(0, "a", "b"), r.got())
	}
}

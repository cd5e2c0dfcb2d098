package streaming_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/streaming"
)

// startProxy starts a proxy between a service and Redis and returns its address. The filter sees all traffic; it may
// delay it, and what it refuses is dropped.
func startProxy(t *testing.T, target string, filter func(fromRedis bool, data []byte) (pass bool)) string {
	t.Helper()
	pump := func(fromRedis bool) worldtest.Pump {
		return func(to, from net.Conn) {
			buffer := make([]byte, 1<<16)
			for {
				n, err := from.Read(buffer)
				if n > 0 && filter(fromRedis, buffer[:n]) {
					if _, err := to.Write(buffer[:n]); err != nil {
						return
					}
				}
				if err != nil {
					return
				}
			}
		}
	}
	return worldtest.NewProxy(t, target, func() (requests, answers worldtest.Pump) { return pump(false), pump(true) }).Addr()
}

// No doorbell arrives: the audit delivers the chunks, and in the end the dead connection is replaced by one that
// receives messages again.
func TestLostDoorbellsOnlyDelayAndADeafConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	// The connection looks alive, as with a node that was failed over.
	var swallowed, subscribed atomic.Int64
	addr := startProxy(t, r.Addr, func(fromRedis bool, data []byte) bool {
		if fromRedis && bytes.HasPrefix(data, []byte(">3\r\n$7\r\nmessage\r\n")) {
			swallowed.Add(1)
			return false
		}
		if !fromRedis && bytes.Contains(data, []byte("subscribe\r\n")) {
			subscribed.Add(1)
		}
		return true
	})
	s := start(t, redistest.Client(t, addr), r.Prefix, func(c *streaming.Config) { c.AuditInterval = 20 * time.Millisecond })
	writer := start(t, r.Client, r.Prefix)

	reader := read(t, s, "st", 0)
	beyond := read(t, s, "st", 1000) // waits for nothing but the end
	live(t, s, 2)
	written := 0
	for ; subscribed.Load() < 2 && written < 500; written++ {
		write(t, writer, "st", numbered(written, written+1)...)
		reader.has(t, written+1)
	}
	require.GreaterOrEqual(t, subscribed.Load(), int64(2), "the connection was not replaced")
	require.Positive(t, swallowed.Load())
	require.NoError(t, writer.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	require.NoError(t, reader.end(t))
	require.Equal(t, chunks(0, numbered(0, written)...), reader.got())
	require.NoError(t, beyond.end(t))
	require.Empty(t, beyond.got())
}

// A chunk that is written before the subscription exists rings for no reader: the reader must read the history only
// after the subscription was confirmed.
func TestHistoryIsReadAfterTheSubscription(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	asked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	addr := startProxy(t, r.Addr, func(fromRedis bool, data []byte) bool {
		if !fromRedis && bytes.Contains(data, []byte("subscribe\r\n")) {
			once.Do(func() { close(asked); <-release })
		}
		return true
	})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	s, writer := start(t, redistest.Client(t, addr), r.Prefix, neverAudit), start(t, r.Client, r.Prefix)
	reader := read(t, s, "st", 0)
	<-asked
	write(t, writer, "st", "a")
	letGo()
	reader.has(t, 1)
}

// Readers share page reads. A reader whose doorbell rang must not share a read from before the ring, otherwise it would
// not get the chunk that was announced.
func TestARungReaderDoesNotShareAnOldPage(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var hold atomic.Bool
	held, release := make(chan struct{}), make(chan struct{})
	addr := startProxy(t, r.Addr, func(fromRedis bool, data []byte) bool {
		emptyPage := fromRedis && bytes.Contains(data, []byte("*6\r\n:0\r\n:1\r\n:0\r\n"))
		if emptyPage && hold.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
		return true
	})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	s, writer := start(t, redistest.Client(t, addr), r.Prefix, neverAudit), start(t, r.Client, r.Prefix)
	write(t, writer, "st", "a")
	waiting := read(t, s, "st", 0)
	waiting.has(t, 1)
	hold.Store(true)
	late := read(t, s, "st", 1)
	<-held
	write(t, writer, "st", "b")
	waiting.has(t, 2)
	letGo()
	late.has(t, 1)
}

// The subscription connection is killed again and again: a new one replaces it, and no chunk that was written in
// between is lost. Only resubscriptions may wake the reader.
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
	require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	require.NoError(t, reader.end(t))
	require.Equal(t, chunks(0, numbered(0, 30)...), reader.got())
}

// Redis stops and comes back with its data: readers wait for it, and writers and new readers get an error that says to
// try again.
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
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(s.CloseStream(t.Context(), world.StreamClose{Name: "other", RunID: "wrun_1"})))
	_, err = listNames(t.Context(), s, "wrun_1")
	require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))

	require.NoError(t, server.Restart())
	// A pool that could not dial for long keeps failing for up to a second more; clients try again.
	again := world.Append{Name: "st", RunID: "wrun_1", Chunks: raw(numbered(3, 6)...), RequestID: "again"}
	require.Eventually(t, func() bool {
		first, err := s.AppendChunks(t.Context(), again)
		return err == nil && first == 3
	}, longWait, 10*time.Millisecond)
	idle.has(t, 6)
	require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
	require.NoError(t, idle.end(t))
	require.Equal(t, chunks(0, numbered(0, 6)...), idle.got())
	require.Equal(t, 6, <-busy)
}

// A process has one subscription connection, for any number of readers.
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
	subscribed := func() int {
		list := client.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Val()
		return bytes.Count([]byte(list.(string)), []byte(" addr="))
	}
	// A reader counts as live before its subscription exists.
	require.Eventually(t, func() bool { return subscribed() > 0 }, longWait, time.Millisecond)
	require.Equal(t, 1, subscribed())
	for i := range streams {
		write(t, s, numbered(i, i+1)[0], "a", "b")
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: numbered(i, i+1)[0], RunID: "wrun_1"}))
	}
	require.LessOrEqual(t, subscribed(), 1)
	for _, r := range readers {
		require.NoError(t, r.end(t))
		require.Equal(t, chunks(0, "a", "b"), r.got())
	}
}

package quietconn_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/quietconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find) }

// pair returns a wrapped connection and the plain one at its other end.
func pair(t *testing.T) (net.Conn, *net.TCPConn) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	dial := quietconn.Dialer((&net.Dialer{}).DialContext)
	wrapped, err := dial(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	if runtime.GOOS == "linux" {
		require.IsNotType(t, &net.TCPConn{}, wrapped, "the connection must be one that reads and writes by itself")
	}
	plain, err := listener.Accept()
	require.NoError(t, err)
	for _, c := range []net.Conn{wrapped, plain} {
		require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)), "so that what goes wrong does not go on for ever")
	}
	t.Cleanup(func() {
		_ = wrapped.Close()
		_ = plain.Close()
	})
	return wrapped, plain.(*net.TCPConn)
}

func TestBytesArriveWholeAndInOrderBothWays(t *testing.T) {
	t.Parallel()
	wrapped, plain := pair(t)
	for _, size := range []int{1, 300, 8 << 10, 64 << 10, 64<<10 + 1, 1<<20 + 1, 8 << 20} {
		want := make([]byte, size)
		_, err := rand.Read(want)
		require.NoError(t, err)
		for _, way := range []struct{ from, to net.Conn }{{wrapped, plain}, {plain, wrapped}} {
			sent := make(chan error, 1)
			go func() {
				n, err := way.from.Write(want)
				if err == nil && n != size {
					err = io.ErrShortWrite
				}
				sent <- err
			}()
			got := make([]byte, size)
			_, err = io.ReadFull(way.to, got)
			require.NoError(t, err)
			require.NoError(t, <-sent)
			require.True(t, bytes.Equal(want, got), "%d bytes", size)
		}
	}
}

// The peer reads late, so the buffers of both ends are full: a short write must write as much as there is room for,
// wait, and continue where it stopped.
func TestShortWritesWaitForAPeerThatReadsLater(t *testing.T) {
	t.Parallel()
	wrapped, plain := pair(t)
	require.NoError(t, wrapped.(interface{ SetWriteBuffer(size int) error }).SetWriteBuffer(4096))
	const total = 1000 * 8192
	chunk := make([]byte, 8192)
	sent := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		defer close(sent)
		for written := 0; written < total; written += len(chunk) {
			for i := range chunk {
				chunk[i] = byte(written >> 13)
			}
			if n, err := wrapped.Write(chunk); err != nil || n != len(chunk) {
				sent <- errors.Join(err, io.ErrShortWrite)
				_ = wrapped.Close()
				return
			}
			if written == 0 {
				close(begun)
			}
		}
	}()
	<-begun
	got := make([]byte, len(chunk))
	for read := 0; read < total; read += len(got) {
		_, err := io.ReadFull(plain, got)
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{byte(read >> 13)}, len(got)), got)
	}
	require.NoError(t, <-sent)
}

func TestDeadlinesEndReadsAndWrites(t *testing.T) {
	t.Parallel()
	wrapped, _ := pair(t)
	isTimeout := func(err error, op string) {
		t.Helper()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		var failed *net.OpError
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Timeout())
		require.Equal(t, op, failed.Op)
	}
	require.NoError(t, wrapped.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := wrapped.Read(make([]byte, 10))
	isTimeout(err, "read")

	require.NoError(t, wrapped.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
	for err = nil; err == nil; { // nobody reads
		_, err = wrapped.Write(make([]byte, 4096))
	}
	isTimeout(err, "write")
}

func TestEndsAreToldApart(t *testing.T) {
	t.Parallel()
	t.Run("the peer has closed", func(t *testing.T) {
		t.Parallel()
		wrapped, plain := pair(t)
		_, err := plain.Write([]byte("last"))
		require.NoError(t, err)
		require.NoError(t, plain.Close())
		got, err := io.ReadAll(wrapped)
		require.NoError(t, err)
		require.Equal(t, "last", string(got))
		_, err = wrapped.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err, "net/http compares")
	})
	t.Run("the peer has broken it off", func(t *testing.T) {
		t.Parallel()
		wrapped, plain := pair(t)
		require.NoError(t, plain.SetLinger(0))
		require.NoError(t, plain.Close())
		_, err := wrapped.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		var failed *net.OpError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "read", failed.Op)
		_, err = wrapped.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
	})
	t.Run("closed here, while one waits", func(t *testing.T) {
		t.Parallel()
		wrapped, _ := pair(t)
		read := make(chan error, 1)
		go func() {
			_, err := wrapped.Read(make([]byte, 1))
			read <- err
		}()
		require.NoError(t, wrapped.Close())
		require.ErrorIs(t, <-read, net.ErrClosed)
		_, err := wrapped.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestOtherConnectionsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	require.Same(t, a, quietconn.Wrap(a))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	refused := errors.New("refused")
	_, err := quietconn.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, refused })(t.Context(), "tcp", "x")
	require.ErrorIs(t, err, refused)
}

// go-redis checks before each command whether the pooled connection is still open. Without that check a command would
// fail, or be repeated, for each connection that Redis had closed.
func TestRedisClientSeesThatItsConnectionsWereClosed(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	ctx := t.Context()
	options := &redis.Options{Addr: server.Addr, MaxRetries: -1, PoolSize: 8, MinIdleConns: 8, DialTimeout: 5 * time.Second}
	var dialled []net.Conn
	turn := make(chan struct{}, 1)
	dial := quietconn.Dialer(redis.NewDialer(options))
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		turn <- struct{}{}
		dialled = append(dialled, c)
		<-turn
		return c, err
	}
	client := redis.NewClient(options)
	defer func() { require.NoError(t, client.Close()) }()
	require.NoError(t, client.Ping(ctx).Err())
	require.Eventually(t, func() bool { return client.PoolStats().IdleConns >= 8 }, time.Minute, 5*time.Millisecond)

	killer := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 1})
	defer func() { require.NoError(t, killer.Close()) }()
	require.NoError(t, killer.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err())
	turn <- struct{}{}
	for _, c := range dialled { // until the end has arrived at each
		raw, err := c.(syscall.Conn).SyscallConn()
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			looked := false
			err := raw.Read(func(uintptr) bool { looked = true; return true })
			return err == nil && looked
		}, time.Minute, time.Millisecond)
	}
	<-turn
	for range 8 {
		require.NoError(t, client.Ping(ctx).Err(), "a connection that Redis has closed must not be used")
	}
}
